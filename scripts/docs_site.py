# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Hooks of mkdocs.yml: what GitHub shows and MkDocs does not."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
_LINK = re.compile(r'(?<!!)\[([^\]]*)\]\(([^)#\s:]+)(#[^)\s]*)?\)')


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """The text of a page for the site.

    A link with the name of a page as its text has the title of that page instead. A link to a file
    outside docs/ becomes the name of the file.
    """
    folder = (ROOT / 'docs' / page.file.src_uri).parent

    def named(link: re.Match[str]) -> str:
        target = (folder / link[2]).resolve()
        if target.is_relative_to(ROOT / 'docs') and target.suffix != '.json':
            if link[1] not in (link[2], target.name):
                return link[0]
            title = target.read_text(encoding='utf-8').partition('\n')[0].lstrip('# ')
            return f'[{title}]({link[2]}{link[3] or ""})'
        name = target.relative_to(ROOT).as_posix()
        return f'{link[1]} (`{name}`)' if name not in link[1] else link[1]

    return _LINK.sub(named, markdown)
