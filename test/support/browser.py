# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""A browser without a screen, and the page of the console in it."""

from __future__ import annotations

import io
import os
import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from PIL import Image
from playwright.sync_api import Browser, Locator, Page, expect, sync_playwright

WAIT_MS = 60_000.0
NO_BROWSER = (
    'NOBODY HAS LOOKED AT THE CONSOLE: there is no chromium here, so its page was not tested in a '
    "browser; cure: 'apt-get install chromium'"
)
SIZE, TABLET = (1000, 780), (820, 1000)  # pixels
PICTURES = 'SAFEGEN_TEST_PICTURES'
"""Names the folder in which pictures are kept; docs/pictures makes those of docs/console.md."""

# Rendering by the CPU, and no service of the browser's own.
_FLAGS = [
    '--no-sandbox', '--use-gl=swiftshader', '--enable-unsafe-swiftshader', '--no-first-run',
    '--ignore-gpu-blocklist', '--disable-background-networking', '--disable-quic',
    '--disable-sync', '--disable-component-update',
]  # fmt: skip


def chromium() -> str:
    """The browser of the system; empty where there is none."""
    return shutil.which('chromium') or shutil.which('chromium-browser') or ''


@contextmanager
def browser() -> Iterator[Browser]:
    """The browser, until the end of the context."""
    with sync_playwright() as playwright:
        opened = playwright.chromium.launch(
            executable_path=chromium(), args=_FLAGS, timeout=WAIT_MS
        )
        try:
            yield opened
        finally:
            opened.close()


# What was sent a moment ago is painted then.
_FRAMES = """async () => {
  for (let i = 0; i < 12; i++) await new Promise(requestAnimationFrame);
}"""


def named(card: str) -> re.Pattern[str]:
    """The name of the button of a card, whose mark says whether the step is done or failed."""
    return re.compile(f'^([✓✕] )?{card}$')


class Screen:
    """The console in a page.

    Args:
        page: of the browser.
        url: of the console.

    Attributes:
        asked: the addresses that the page has asked for.
    """

    def __init__(self, page: Page, url: str) -> None:
        self.page = page
        self.asked: list[str] = []
        page.on('request', lambda request: self.asked.append(request.url))
        page.set_default_timeout(WAIT_MS)
        page.goto(url)
        self.sees('Next:')

    def sees(self, text: str) -> None:
        """Waits for a text."""
        expect(self.page.get_by_text(text).first).to_be_visible(timeout=WAIT_MS)

    def button(self, name: str) -> Locator:
        return self.page.get_by_role('button', name=name)

    def click(self, name: str) -> None:
        self.button(name).click()

    def show(self, text: str) -> None:
        """Scrolls until a text is at the top."""
        self.page.get_by_text(text).first.evaluate('(element) => element.scrollIntoView()')

    def top(self) -> None:
        """Scrolls to what is always in view."""
        panel = self.page.locator('.mantine-ScrollArea-viewport')
        panel.filter(has=self.page.locator('.sg-head')).evaluate('(panel) => panel.scrollTo(0, 0)')

    def open(self, card: str) -> None:
        """Opens a card by its button."""
        self.page.get_by_role('button', name=named(card)).click()

    def field(self, label: str) -> Locator:
        """The first input behind a label."""
        inputs = '/following::*[self::input or self::textarea][1]'
        return self.page.locator(f'xpath=//label[normalize-space()="{label}"]{inputs}')

    def write(self, label: str, text: str) -> None:
        self.field(label).fill(text)
        self.field(label).blur()

    def choose(self, label: str, option: str) -> None:
        self.field(label).click()
        self.page.get_by_role('option', name=option).first.click()

    def picture(self, name: str) -> None:
        """Keeps what is seen, in few colours, where the environment names a folder."""
        if not (folder := os.environ.get(PICTURES)):
            return
        self.page.evaluate(_FRAMES)
        plain = '[role=alert] { visibility: hidden; }'  # what viser has to say of the renderer
        seen = Image.open(io.BytesIO(self.page.screenshot(style=plain))).convert('RGB')
        seen.quantize(128).save(Path(folder) / f'{name}.png', optimize=True)
