# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Reads facts, formulas and constraints from English, as words of PDDL.

A parser of Lark would be as fast but takes 0.2 s to be made for each domain in each process, and
names no cure: every error here has one.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from safegen_ros.errors import PddlError
from safegen_ros.language import english
from safegen_ros.language.english import Fact, Phrases, plain
from safegen_ros.language.placed import Place, error_at, too_long
from safegen_ros.pddl.sexpr import MAX_DEPTH, MAX_TEXT, is_name

_TOKEN = re.compile(r'\s+|"[^"\s]*"|[A-Za-z0-9_?@][A-Za-z0-9_\-]*|[.,:()\-]', re.ASCII)

_BULLETS = frozenset('*+\u2022\u2023\u25e6\u25aa\u00b7\u2013\u2014\u2212')
"""What may stand before an item instead of `-`: stars, dots and dashes of other kinds."""


@dataclass(frozen=True, slots=True)
class Token:
    """A word or a mark with its place."""

    text: str
    line: int
    column: int

    @property
    def place(self) -> Place:
        """Line and column, both from 1."""
        return self.line, self.column


class Tokens:
    """The words and marks of a text, read one after the other.

    Raises:
        PddlError: the text is too long, or holds other characters than words and marks have.
    """

    def __init__(self, text: str, source: str) -> None:
        self._source = source
        if len(text) > MAX_TEXT:
            raise too_long(text, source)
        self._tokens = self._split(text)
        self.index = 0

    def _split(self, text: str) -> list[Token]:
        found = []
        position, line, start = 0, 1, 0
        while position < len(text):
            match = _TOKEN.match(text, position)
            if text[position] in _BULLETS and not text[start:position].strip():
                found.append(Token('-', line, position - start + 1))
                position += 1
                continue
            if match is None:
                bad = Token('', line, position - start + 1)
                raise self.error(bad, f'found {text[position]!a}', 'use plain words only')
            if match[0].isspace():
                line += match[0].count('\n')
                if '\n' in match[0]:
                    start = text.rindex('\n', 0, match.end()) + 1
            else:
                found.append(Token(match[0], line, position - start + 1))
            position = match.end()
        return [*found, Token('', line, position - start + 1)]

    @property
    def next(self) -> Token:
        """The token that comes next; its text is empty at the end."""
        return self._tokens[self.index]

    def place(self, index: int) -> Place:
        """Where a token stands."""
        return self._tokens[index].place

    def take(self) -> Token:
        """Takes the next token."""
        token = self.next
        self.index += bool(token.text)
        return token

    def at(self, words: str) -> bool:
        """Whether these words come next; capitals do not matter."""
        wanted = words.lower().split()
        found = self._tokens[self.index : self.index + len(wanted)]
        return [token.text.lower() for token in found] == wanted

    def accept(self, words: str) -> bool:
        """Takes these words if they come next."""
        if not self.at(words):
            return False
        self.index += len(words.split())
        return True

    def mark(self, mark: str) -> bool:
        """Takes a full stop or a colon; at the end of a line it may be missing.

        Returns:
            Whether what the mark ends can end here.
        """
        before = self._tokens[self.index - 1]
        return self.accept(mark) or not self.next.text or self.next.line > before.line

    def expect(self, words: str, cure: str = '') -> None:
        """Takes these words.

        Raises:
            PddlError: something else comes next.
        """
        for word in words.split():
            if not (self.mark(word) if word in ('.', ':') else self.accept(word)):
                raise self.unexpected(f'{word!r}', cure or f'write {plain(words)!r}')

    def unexpected(self, wanted: str, cure: str) -> PddlError:
        """An error at the next token."""
        found = ascii(self.next.text[:40]) if self.next.text else 'the end of the text'
        return self.error(self.next, f'found {found} where {wanted} must stand', cure)

    def error(self, at: Token, what: str, cure: str) -> PddlError:
        """An error at a token."""
        return error_at(self._source, at.place, what, cure)


Words = list[tuple[str, Place]]
"""Words of PDDL with their places."""

_MOST_DEPTH = 3 * MAX_DEPTH  # a level of PDDL has a weight of 3 at most, see `_deeper`

_CLOSED = ('(', f'{english.ALL_PARTS} (', f'{english.ANY_PART} (')
"""How a part of a sentence begins that ends with a parenthesis."""

_SENTENCES = {operator: text.split() for operator, text in english.SENTENCES.items()}


class CanonicalClauses:
    """Reads combinations of facts; a reader of object names adds them to `objects`."""

    def __init__(self, tokens: Tokens, own: Phrases) -> None:
        self.objects: set[str] = set()
        self._tokens = tokens
        self._phrases = own
        self._facts = sorted(own.facts.values(), key=lambda fact: -len(fact.words))
        self._bound: list[str] = []
        self._depth = 0

    def name(self, what: str, *, any_word: bool = False) -> tuple[str, Place]:
        """Takes a name; unless any word may stand there, one of the sentences' is in quotes."""
        token = self._tokens.next
        if not self._is_name(token) and not (any_word and is_name(token.text.lower())):
            cure = 'write a name, in double quotes if it is also a word of the rules'
            raise self._tokens.unexpected(what, cure)
        self._tokens.take()
        return token.text.strip('"').lower(), token.place

    def _is_name(self, token: Token) -> bool:
        name = token.text.strip('"').lower()
        return is_name(name) and (token.text[0] == '"' or name not in self._phrases.reserved)

    def _term(self, token: Token) -> str | None:
        """The object or the variable that a token names, if it names any."""
        if token.text[:1] == '?':
            return token.text.lower()
        variable = f'?{token.text.lower()}'
        if token.text != token.text.lower() and variable in self._bound:
            self._check_variable(token)
            return variable
        return token.text.strip('"').lower() if self._is_name(token) else None

    def _check_variable(self, token: Token) -> None:
        """Refuses a variable in capitals that may as well be an object of that name."""
        name = token.text.lower()
        if name in self.objects:
            what = f'{token.text} may be a variable or the object {name}'
            cure = f"write '?{name}' for the variable and '{name}' for the object"
            raise self._tokens.error(token, what, cure)

    def constraint(self) -> Words:
        """Takes one sentence of the rules."""
        tokens = self._tokens
        place = tokens.next.place
        left = dict(_SENTENCES)
        times: Words = []
        formulas: list[Words] = []
        index = 0
        while True:
            wanted = {operator: words[index] for operator, words in left.items()}
            slot = next(iter(wanted.values()))
            if slot == '{time}':
                times.append(self._time())
            elif slot[0] == '{':
                formulas.append(self.formula())
            elif slot == '.':
                tokens.expect(slot, f'a rule is {self._rules(left)}')
            else:
                word = 'steps' if tokens.at('step') and 'steps' in wanted.values() else None
                word = word or tokens.next.text.lower()
                fitting = {op: w for op, w in left.items() if w[index].lower() == word}
                if not fitting:
                    known = ' or '.join(sorted({repr(w) for w in wanted.values()}))
                    raise tokens.unexpected(known, f'a rule is {self._rules(left)}')
                tokens.take()
                left = fitting
            index += 1
            operator, words = next(iter(left.items()))
            if index == len(words):
                head = [(word, place) for word in ('(', *operator.split())]
                return [*head, *times, *(w for f in formulas for w in f), (')', place)]

    def _rules(self, operators: dict[str, list[str]]) -> str:
        return ' or '.join(repr(english.plain(english.SENTENCES[o])) for o in operators)

    def _time(self) -> tuple[str, Place]:
        token = self._tokens.next
        if not token.text.isdecimal():
            raise self._tokens.unexpected('a number of steps', 'write 0, 1, 2 ...')
        self._tokens.take()
        return token.text, token.place

    def formula(self) -> Words:
        """Takes a formula where a whole sentence may stand."""
        tokens = self._tokens
        place = tokens.next.place
        if tokens.accept('if'):
            premise = self._deeper(self.formula, 1)
            tokens.expect(', then')
            return _list('imply', place, premise, self._deeper(self.formula, 1))
        if tokens.accept(english.EVERY):
            return self._quantified('forall', place)
        if tokens.accept(english.SOME):
            return self._quantified('exists', place)
        return self._joined('or')

    def _deeper(self, read: Callable[[], Words], weight: int) -> Words:
        """Takes a nested element one level deeper, which takes `weight` of the depth allowed."""
        self._depth += weight
        if self._depth > _MOST_DEPTH:
            raise self._tokens.error(self._tokens.next, 'too deeply nested clauses', 'flatten them')
        found = read()
        self._depth -= weight
        return found

    def _quantified(self, head: str, place: Place) -> Words:
        variables, names = self._variables()
        self._tokens.expect(',')
        self._bound += names
        body = self._deeper(self.formula, 1)
        del self._bound[len(self._bound) - len(names) :]
        return _list(head, place, [('(', place), *variables, (')', place)], body)

    def _variables(self) -> tuple[Words, list[str]]:
        """Takes the variables of a quantifier: words of PDDL, and the variables alone."""
        tokens = self._tokens
        words: Words = []
        names: list[str] = []
        if tokens.accept(english.EMPTY):
            return words, names
        while not names or tokens.accept('and'):
            kinds = [self._noun()]
            while tokens.accept('or'):
                kinds.append(self._noun())
            token = tokens.next
            name = token.text.lower().lstrip('?')
            if token.text == name or not is_name(name):
                cure = "write it with capitals, or with '?' before it"
                raise tokens.unexpected('a variable', cure)
            self._check_variable(tokens.take())
            either = [('(', token.place), ('either', token.place), *kinds, (')', token.place)]
            kind = kinds if len(kinds) == 1 else either
            words += [(f'?{name}', token.place), ('-', token.place), *kind]
            names.append(f'?{name}')
        return words, names

    def _noun(self) -> tuple[str, Place]:
        kind = self._phrases.types.get(self._tokens.next.text.lower())
        return self.name('a type') if kind is None else (kind, self._tokens.take().place)

    def _joined(self, head: str) -> Words:
        """Takes the parts of an `or`, and inside that of an `and`."""
        inside = self.unit if head == 'and' else partial(self._joined, 'and')
        place = self._tokens.next.place
        parts = [inside()]
        while self._tokens.accept(head):
            parts.append(inside())
        return parts[0] if len(parts) == 1 else _list(head, place, *parts)

    def unit(self) -> Words:
        """Takes a formula where one part of a sentence may stand."""
        tokens = self._tokens
        place = tokens.next.place
        if tokens.accept('('):
            found = self._deeper(self.formula, 2)
            tokens.expect(')')
            return found
        if tokens.accept(english.NOT_BOTH):
            left = self._deeper(self.unit, 1)
            tokens.expect('and')
            both = _list('and', place, left, self._deeper(self.unit, 1))
            self._check_end(english.NOT_BOTH)
            return _list('not', place, both)
        if tokens.accept(english.UNTRUE):
            closed = any(map(tokens.at, _CLOSED))
            body = self._deeper(self.unit, 1)
            if not closed:
                self._check_end(english.UNTRUE)
            return _list('not', place, body)
        for head, words in (('and', english.ALL_PARTS), ('or', english.ANY_PART)):
            if tokens.accept(f'{words} ('):
                parts = [] if tokens.at(')') else [self._deeper(self.formula, 2)]
                tokens.expect(')')
                return _list(head, place, *parts)
        return self._same() or self._fact()

    def _check_end(self, negation: str) -> None:
        """Refuses a negation that may go on: a reader would not know how far it reaches."""
        tokens = self._tokens
        if tokens.at('and') or tokens.at('or'):
            what = f'unclear whether {negation!r} reaches beyond {tokens.next.text.lower()!r}'
            cure = f"put what is not true in parentheses, or write '{english.NOT_BOTH} ... and ...'"
            raise tokens.error(tokens.next, what, f'{cure}, in parentheses if more follows')

    def _same(self) -> Words | None:
        """Takes the identity of two things, if that comes next."""
        tokens = self._tokens
        first = tokens.next
        left = self._term(first)
        if left is None:
            return None
        for words in (english.SAME, english.DIFFERENT):
            tokens.index += 1
            if tokens.accept(words):
                second = tokens.next
                right = self._term(second)
                if right is None:
                    raise tokens.unexpected('an object or a variable', 'name one')
                tokens.take()
                terms = [(left, first.place), (right, second.place)]
                same = _list('=', first.place, terms)
                return same if words == english.SAME else _list('not', first.place, same)
            tokens.index -= 1
        return None

    def _fact(self) -> Words:
        tokens = self._tokens
        start = tokens.index
        furthest, missed = start, ''
        for fact in self._facts:
            tokens.index = start
            terms = self._fitted(fact)
            if terms is not None:
                place = tokens.place(start)
                ordered = [terms[number] for number in sorted(terms)]
                atom = _list(fact.predicate, place, ordered)
                return atom if fact.true else _list('not', place, atom)
            if tokens.index > furthest:
                furthest, missed = tokens.index, fact.template
        tokens.index = furthest
        raise self._no_fact(missed)

    def _no_fact(self, missed: str) -> PddlError:
        templates = [fact.template for fact in self._facts if fact.true][:6]
        near = [missed] if missed else templates
        shown = ' or '.join(repr(re.sub(r'\{(\d)\}', '...', text)) for text in near)
        return self._tokens.unexpected('a fact', f'write {shown or "a fact of the domain"}')

    def _fitted(self, fact: Fact) -> dict[int, tuple[str, Place]] | None:
        """The terms by their numbers, if a fact comes next; it is taken as far as it fits."""
        tokens = self._tokens
        terms: dict[int, tuple[str, Place]] = {}
        for word in fact.words:
            token = tokens.next
            if isinstance(word, int):
                term = self._term(token)
                if term is None:
                    return None
                terms[word] = (term, token.place)
            elif token.text.lower() != word:
                return None
            tokens.take()
        return terms


def _list(head: str, place: Place, *parts: Words) -> Words:
    """A list of PDDL."""
    return [('(', place), (head, place), *(word for part in parts for word in part), (')', place)]
