# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Lists hard sentences and dead links in pages and help, and hard phrases in the package.

    .venv/bin/python scripts/prose.py            # the counts by page
    .venv/bin/python scripts/prose.py PAGE ...   # each finding of these pages

A sentence is hard when it has more than 30 words, or a phrase for which the field has a word.
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
HELP = ROOT / 'test' / 'golden' / 'help.txt'
CHANGES = ROOT / 'CHANGELOG.rst'
#: Prompts, training data and notes of studies: what was trained or printed with them stays.
FIXED = (
    'datasets',
    'benchmarks',
    'boxnet/prompts.py',
    'household/react.py',
    'household/scripted.py',
    'household/tasks.py',
    'pddl3/prompts',
    'planetarium/doubts.py',
)
LONGEST = 30  # words of a sentence

PHRASES = {
    r'\banew\b': 'again',
    r'\bsigns? of life\b': 'heartbeat',
    r'\bmends?\b|\bmended\b': 'fix',
    r'\bwho(?:ever)? is asked\b': 'planner',
    r'\bwhat came of\b': 'result',
    r'\bis to be\b': 'must be',
    r'\bwhat (?:it|he|she|one) (?:has|is|does)\b': 'name the thing',
    r'\bof these\b': 'name the things',
    r'\bas it stands\b': 'unchanged',
    r'\bby itself\b': 'alone, or on its own',
    r'\bnobody\b': 'no operator, no client ...',
    r'\bfor want of\b': 'without',
    r'\bwhat is (?:plain|told|known|asked)\b': 'name the thing',
    r'\bthan that of\b': 'than the ...',
    r'\blook(?:ed)? on at\b': 'watch',
    r'\btells?\b(?!:)|\b(?:is|are|was|were) told\b': 'report, list, explain',
    r'\bcarr(?:y|ies|ied) (?:\w+ )?out\b': 'execute',
    r'\bas it ships\b': 'by default',
    r'\bof (?:its|his|their|our|your) own(?=\W*$|[.,;:)]| (?:\w{1,4}|beside|which)\b)': 'its own',
    r'\b(?:says?|said|speaks?) of\b': 'name the content',
    r'(?<!here )\b(?:is|are|was|were|be) (?-i:none)\b': 'is not a ...',
    r'(?<!here )\b(?:is|are|was|were|be) no (?!longer|more|less|way|such|need|better|later)': 'not',
    r'\bwho(?:ever|mever|m)\b': 'name the person or process',
    r'\bin place of\b': 'instead of',
    r'\basked back\b': 'confirm',
    r'(?:^|[.:;] )(?-i:Of) (?:a|an|the|each|what|all|one|those)\b': 'the subject first',
    r'(?:^|[.:;] )(?-i:Nor)\b': 'the subject first',
    r'(?:^|[.:;] )(?-i:So) (?:is|are|was|does|do)\b': 'the subject first',
    r'\bwhat (?:is|was|are|were) [^,.;:()]{1,50} (?:is|are|was|were)\b': 'name the thing',
    r'\bmending\b|\bthereof\b|\bthereby\b|\bwhence\b|\blest\b': 'a word of today',
}
_FENCE = re.compile(r'^```.*?^```', re.MULTILINE | re.DOTALL)
_LINK = re.compile(r'\[([^\]]*)\]\(([^)\s]+)\)')
_APART = ('    ', '|', '#', '>')  # code, tables, headings, notes
_CODE = re.compile(r'`[^`\n]*`')
_COMMENT = re.compile(r'(?:^ *|  )#:? .*(?:\n *#:? .*)*', re.MULTILINE)


def pages() -> list[Path]:
    """The pages that a person reads, generated figures apart."""
    found = [ROOT / name for name in ('README.md', 'CONTRIBUTING.md', 'SECURITY.md')]
    results = ROOT / 'docs' / 'results'
    found += [page for page in sorted((ROOT / 'docs').rglob('*.md')) if results not in page.parents]
    found += [results / 'README.md', HELP, CHANGES]
    return found + sorted((ROOT / 'models').glob('safegen-*/README.md'))


def read(page: Path) -> str:
    """The text of a page, or its newest changes; in help each description is a paragraph."""
    text = page.read_text(encoding='utf-8')
    if page == CHANGES:
        return re.split(r'^.*\n-{3,}\n', text, flags=re.MULTILINE)[1].replace('``', '`')
    if page != HELP:
        return text
    found = ['']
    for line in text.splitlines():
        if not line.startswith('│'):
            words = '' if line.startswith(('$', ' Usage', ' safegen ', '╭', '╰')) else line.strip()
            found += [''] if not words or re.match(r' {3}\w', line) else []  # name:=default
        else:
            first, *_, words = columns = re.split(r'\s{2,}', line.strip('│').rstrip())
            found += [''] if first or len(columns) > 2 else []  # else a description goes on
        found[-1] += f' {words}'
    return '\n\n'.join(each.strip() for each in found)


def sentences(text: str) -> Iterator[str]:
    """The sentences of the paragraphs and list items of a page; tables and code are left out."""
    text = re.sub(r'<!--.*?-->', '', _FENCE.sub('', text), flags=re.DOTALL)
    for block in re.split(r'\n\s*\n|\n(?=\s*(?:[-*]|\d+\.) )', text):
        lines = [line for line in block.splitlines() if not line.startswith(_APART)]
        words = ' '.join(_LINK.sub(lambda m: m[1], ' '.join(lines)).split())
        words = words.replace('**', '')
        yield from filter(None, re.split(r'(?<=[.!?:;])\s+(?=[A-Z`\[*"(])', words))


def findings(text: str) -> Iterator[str]:
    """What is hard to read in a page; of tables and headings only the phrases."""
    for sentence in sentences(text):
        count = len(_CODE.sub('x', sentence).split())
        if count > LONGEST:
            yield f'{count} words: {sentence}'
        yield from _phrases(sentence)
    for line in _FENCE.sub('', text).splitlines():
        if line.startswith(('|', '#')):
            yield from _phrases(line)


def _phrases(text: str) -> Iterator[str]:
    plain = _CODE.sub('', text)
    for phrase, better in PHRASES.items():
        found = re.search(phrase, plain, re.IGNORECASE)
        if found is not None:
            yield f'{found[0]!r}, say {better}: {text}'


def hard_phrases() -> Iterator[str]:
    """Phrases in the texts of the package: what it prints or sends, docstrings and comments."""
    for path in sorted((ROOT / 'safegen_ros').rglob('*.py')):
        fixed = any(part in path.as_posix() for part in FIXED)
        text = path.read_text(encoding='utf-8')
        tree = [*ast.walk(ast.parse(text))]
        docs = {node.value for node in tree if isinstance(node, ast.Expr)}
        texts = [
            (node.lineno, ' '.join(node.value.split()))
            for node in tree
            if isinstance(node, ast.Constant) and isinstance(node.value, str)
            and (node in docs or not fixed)
        ]  # fmt: skip
        for comment in _COMMENT.finditer(text):
            line = text.count('\n', 0, comment.start()) + 1
            texts.append((line, ' '.join(comment[0].replace('#', ' ').split())))
        for line, words in texts:
            yield from (f'{path.relative_to(ROOT)}:{line}: {each}' for each in _phrases(words))


def anchors(text: str) -> set[str]:
    """The names by which links reach the headings of a page, as GitHub makes them."""
    heads = re.findall(r'^#+ +(.*)$', _FENCE.sub('', text), re.MULTILINE)
    return {re.sub(r'[^\w\- ]', '', head.lower()).replace(' ', '-') for head in heads}


def dead_links(page: Path) -> Iterator[str]:
    """Links of a page that lead nowhere, or to another page than their text names."""
    for text, link in _LINK.findall(_FENCE.sub('', page.read_text(encoding='utf-8'))):
        if re.match(r'[a-z]+:', link):
            continue
        name, _, anchor = link.partition('#')
        target = (page.parent / name).resolve() if name else page
        if (
            not target.exists()
            or (text.endswith('.md') and Path(text).name != target.name)
            or (
                anchor
                and target.suffix == '.md'
                and anchor not in anchors(target.read_text(encoding='utf-8'))
            )
        ):
            yield link


def main() -> None:
    """Prints the findings."""
    if len(sys.argv) > 1:
        for name in sys.argv[1:]:
            page = ROOT / name
            for each in (*findings(read(page)), *dead_links(page)):
                print(f'{name}: {each}')
        return
    total = 0
    for page in pages():
        count = len([*findings(read(page))])
        total += count
        print(f'{count:5}  {page.relative_to(ROOT)}  {" ".join(dead_links(page))}')
    for each in hard_phrases():
        total += 1
        print(each)
    print(f'{total:5}  in all')


if __name__ == '__main__':
    main()
