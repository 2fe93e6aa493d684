# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""How the page of a shared run looks, and its one script."""

from __future__ import annotations

STYLE = """
:root { color-scheme: light dark; --ink: #1b1f24; --paper: #ffffff; --soft: #f3f4f6;
  --line: #c9ced6; --good: #146c3e; --bad: #b3261e; --open: #8a5300; }
@media (prefers-color-scheme: dark) {
  :root { --ink: #e8eaed; --paper: #14171b; --soft: #1f242a; --line: #434a54;
    --good: #6fd39b; --bad: #ff9a90; --open: #f0bd6a; } }
* { box-sizing: border-box; }
body { margin: 0; background: var(--paper); color: var(--ink);
  font: 16px/1.5 system-ui, -apple-system, "Segoe UI", "DejaVu Sans", sans-serif; }
main, footer { max-width: 62rem; margin: 0 auto; padding: 1rem 1.25rem; }
footer { font-size: .85rem; border-top: 1px solid var(--line); }
h1 { font-size: 1.5rem; line-height: 1.25; margin: .2em 0; overflow-wrap: anywhere; }
h2 { font-size: 1.2rem; margin: 0 0 .5em; }
h3 { font-size: 1.05rem; margin: 0 0 .4em; overflow-wrap: anywhere; }
section { border-top: 1px solid var(--line); padding: 1.1rem 0 .6rem; }
p, li { overflow-wrap: anywhere; }
.lead { font-size: 1.1rem; }
.good { color: var(--good); } .bad { color: var(--bad); } .open { color: var(--open); }
.banner { border-left: .5rem solid currentColor; padding: .3rem .9rem; background: var(--soft); }
.banner p { color: var(--ink); margin: .3em 0; }
.card { background: var(--soft); border-radius: .5rem; padding: .9rem 1rem; margin: 0 0 1rem; }
.columns { display: flex; flex-wrap: wrap; gap: 1rem 2.5rem; align-items: flex-start; }
.columns > * { flex: 1 1 18rem; min-width: 0; }
ol { margin: .2em 0 .8em; padding-left: 2.2em; }
.sg-fails { font-weight: bold; color: var(--bad); }
pre { background: var(--soft); padding: .7rem; overflow: auto; max-height: 24rem; font-size: .85rem;
  white-space: pre-wrap; overflow-wrap: anywhere; unicode-bidi: isolate; }
.card pre { background: var(--paper); }
code { font-size: .85em; overflow-wrap: anywhere; }
table { border-collapse: collapse; } th, td { text-align: left; padding: .15em .9em .15em 0;
  vertical-align: top; overflow-wrap: anywhere; }
.wide { overflow-x: auto; }
summary { cursor: pointer; }
.film { display: flex; flex-wrap: wrap; gap: 1rem 1.5rem; align-items: flex-end; }
.film .frame { border: 1px solid var(--line); border-radius: .4rem; padding: .5rem .7rem; }
.film.one .frame { display: none; } .film.one .frame.shown { display: block; }
.scrub { display: flex; gap: .8rem; align-items: center; margin: 0 0 .6rem; }
.scrub[hidden] { display: none; }
.scrub label { flex: 1; display: flex; gap: .6rem; } .scrub input { flex: 1; }
video { max-width: 100%; }
.time { font-variant-numeric: tabular-nums; text-align: right; white-space: nowrap; }
.alarm { font-weight: bold; color: var(--bad); }
.quiet { font-size: .9rem; }
@media print { details > * { display: block; } }
"""
"""It follows what the reader prefers, light or dark."""

SCRIPT = """
for (const film of document.querySelectorAll('.film')) {
  const frames = film.querySelectorAll('.frame');
  const control = film.previousElementSibling;
  if (frames.length < 2 || !control || !control.matches('.scrub')) continue;
  const slider = control.querySelector('input'), told = control.querySelector('output');
  const show = () => {
    frames.forEach((frame, index) => frame.classList.toggle('shown', index == slider.value));
    told.textContent = slider.value + ' of ' + (frames.length - 1);
    slider.setAttribute('aria-valuetext', frames[slider.value].dataset.told);
  };
  slider.max = frames.length - 1;
  slider.addEventListener('input', show);
  control.hidden = false;
  film.classList.add('one');
  show();
}
"""
"""Without it every state is shown at once."""
