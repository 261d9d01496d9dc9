"""Constructs of C++ in a source: found however the source is laid out, commented, and its variables
named."""

import functools
import re

TOKEN = re.compile(
    r"""(?P<space>\s+|//[^\n]*|/\*.*?\*/)
      | [A-Za-z_]\w* | \d['.\w]* | "(?:\\.|[^"\\])*" | '(?:\\.|[^'\\])*'
      | <<= | >>= | -> | :: | \+\+ | -- | << | [<>=!]= | && | \|\| | [-+*/%&|^]= | .""",
    re.VERBOSE | re.DOTALL)
WORDS = set("""auto bool break case char class const constexpr continue default double else false
    float for if inline int namespace nullptr operator private public return sizeof static
    static_cast struct switch template true typename unsigned using void while""".split())


class NotOnce(Exception):
    """A construct that a source has not, or more than once."""


class Tokens:
    """The tokens of a text, without spaces and comments: `text`, `begin` and `end` in the text, and
    whether each `is_name` of a variable, which may be any other (not of a member, a function, a
    type)."""

    def __init__(self, source):
        found = [m for m in TOKEN.finditer(source) if m["space"] is None]
        self.text = [m.group() for m in found]
        self.begin = [m.start() for m in found]
        self.end = [m.end() for m in found]
        self.is_name = [self._is_name(i) for i in range(len(found))]

    def _is_name(self, i):
        word = self.text[i]
        if not re.match(r"[a-z_]", word) or word in WORDS or word.endswith("_t"):
            return False
        before = self.text[i - 1] if i > 0 else ""
        after = self.text[i + 1] if i + 1 < len(self.text) else ""
        return before not in (".", "->", "::") and after not in ("(", "::")


@functools.cache
def tokens_of(text):
    return Tokens(text)


def names_at(source, first, construct):
    """By which names of the source's tokens from `first` on the construct's are meant; None where
    these are another construct."""
    meant, taken = {}, {}
    for k, word in enumerate(construct.text):
        there = source.text[first + k]
        if construct.is_name[k] and source.is_name[first + k]:
            if meant.setdefault(word, there) != there or taken.setdefault(there, word) != word:
                return None
        elif word != there:
            return None
    return meant


def place_of(source, construct):
    """The first token of the only place where a source has the construct, and the names there.
    Throws NotOnce."""
    all_, wanted = tokens_of(source), tokens_of(construct)
    places = []
    for first in range(len(all_.text) - len(wanted.text) + 1):
        names = names_at(all_, first, wanted)
        if names is not None:
            places.append((first, names))
    if len(places) != 1:
        raise NotOnce(f"{len(places)} times {construct!r}")
    return places[0]


def replaced(source, construct, other):
    """The source with `other`, in the names that it has there, in place of the construct."""
    first, names = place_of(source, construct)
    all_ = tokens_of(source)
    last = first + len(tokens_of(construct).text) - 1
    new = tokens_of(other)
    words = [names.get(word, word) if new.is_name[i] else word for i, word in enumerate(new.text)]
    return f"{source[:all_.begin[first]]} {' '.join(words)} {source[all_.end[last]:]}"


def reworded(source):
    """The same tokens with other variables' names, other lines and no comments."""
    all_ = tokens_of(source)
    return "\n".join(f"{word}_renamed" if all_.is_name[i] else word
                     for i, word in enumerate(all_.text))
