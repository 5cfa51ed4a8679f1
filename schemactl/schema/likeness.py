"""Computes how alike two names are, by their words.

Words are alike if they are one word: in another spelling, in the plural, abbreviated, or mistyped by one letter. Most
letters in common say nothing (``country`` and ``county``), a further word makes another thing (``email`` and
``email_hash``), and so does another number (``sales_q1`` and ``sales_q2``).
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection, Iterable, Mapping
from enum import Enum, auto
from functools import lru_cache
from typing import Final, NamedTuple

_ABBREVIATED: Final = 0.9
"""Of a word and its abbreviation, plural or misspelling: ``cust`` and ``customer``, ``order`` and ``orders``."""

_ABBREVIATIONS: Final = {
    short: word
    for word, shorts in {
        "account": "acct acc", "address": "addr", "amount": "amt", "average": "avg", "category": "cat categ",
        "code": "cd", "configuration": "config conf cfg", "country": "ctry", "currency": "curr ccy", "customer": "cust",
        "date": "dt", "department": "dept", "description": "desc descr", "destination": "dest dst", "document": "doc",
        "employee": "emp", "identifier": "ident", "image": "img", "information": "info", "invoice": "inv",
        "language": "lang", "latitude": "lat", "location": "loc", "longitude": "lon lng", "manager": "mgr",
        "maximum": "max", "message": "msg", "minimum": "min", "number": "num nr no", "organization": "org",
        "parameter": "param", "password": "pwd passwd", "percent": "pct perc", "position": "pos", "previous": "prev",
        "product": "prod", "quantity": "qty", "reference": "ref", "sequence": "seq", "source": "src",
        "telephone": "tel", "temperature": "temp", "timestamp": "ts", "timezone": "tz", "transaction": "txn tx",
        "user": "usr", "value": "val", "version": "ver",
    }.items()
    for short in shorts.split()
}  # fmt: skip
"""Abbreviations and synonyms, with the word that they mean."""

_SPELLINGS: Final = (("ss", "s"), ("our", "or"), ("tre", "ter"), ("ogue", "og"), ("is", "iz"), ("ys", "yz"))
"""British spellings with the American spellings."""

_ENDINGS: Final = (
    *(("ies", "y", 5), ("ches", "ch", 6), ("shes", "sh", 6), ("sses", "ss", 6), ("xes", "x", 5)),
    *(("ss", "ss", 2), ("us", "us", 2), ("s", "", 4), ("ing", "", 7)),
)
"""Endings of plurals and verbs (``ship``, ``shipping``), their replacements, and the least length of words."""

_SHORTEST_SWAPPED: Final = 5
_SHORTEST_WITH_LETTER: Final = 6
_SHORTEST_REORDERED: Final = 7
"""Letters of the shortest words in which a slip is two swapped letters, one more, or one in another place.

Shorter ones often are words."""

_WORDS: Final = """
action addiction addition alerted alerting altered altering angel angle armfuls armsful artiest artiste auction babbled
babbling backed backer baked baker banker barely barley beach bearded bearding beast beats blabbed blabbing bleach
blobbed blobbing blogged blogging blotted blotting blowing boarder boast boaster boasting boaters boating boats bobbled
bobbling boggled boggling boost boots bother bottled bottling bought bowling brain breach breaded breading breadth
breast breath brian bride bridge broader brother brought brunt burnt cackled cackling cashing casinos cassino casual
causal cause cavalier cavalrie chasing clacked clacking clause cleaners cleanings cleanser cleansing clemati climate
clobber closest closet closets clover cluster coast coasting coatings coats cobbler comic compete competed complaint
complete completed compliant condoles conservation conserve conserved conserving consoled contact contacted contacting
contactor contract contracted contracting contractor conversation converse conversed conversing corner coroner cosmic
country county coupe couple course cover crate create created creation cremated cremation crochet crotche cupfuls
cupsful curse custer dairy decants deceased decent decreased deleted deletion denotation depleted depletion deport depot
derive descant descent deserts dessert detonation diary diver divided dividend drive driver either encoder encored
endures ensured eternal ether ethic ethnic except excepted excepting excerpt excited exciting exert exist existed
existing exited exiting exits expected expecting expert external faction faculty failed failing famed farmed farming
farther father faulty feast feather feats feeling fickler fiction field fiend fight filed filing filmed finer finger
fired fleeing flicker flight flooder floored flowing founded founding fowling fraction framed framing freight friction
fried friend fright funded funding gateway getaway grade grande granted granting grated grating hairbreadths
hairsbreadth handed handfuls handled handsful hankered hankering hardier harkened harkening harried hated hater haunting
health heated heater heath holster hostel hostler hotel hunting hurtles hustler immoral immortal indeed indented
indenting indexed indicated indicted inert infidel infield insect insert inspect insulated insulted intended intending
keening kneeing lager lambkins lambskin larger launch lawyer layer leaned learned linear lined liner linger linked loner
longer lunch macro maker makings marco margin marie marin marine marital marker martial masking medal medial mediation
medical medication meditation mental metal meteor meter mildness mindless misdeal misdealing mislead misleading money
monkey moral morality mortal mortality musings mussing naive naivest native natives needles needless neural neuron
neutral neutron nobel noble nothing noting observe obverse ordinance ordnance ousting outage outings outrage overate
overeat overlay overly paced pacing packed packing pailfuls pailsful palace palmists panned pantry panty parental
parings parity parleys parsing parsley parties partly party pastier patent patient payed payer peppier perfect phase
phrase piece pierce place placed placing planet planned plant planted plated played player portion posed poser posted
poster potion powder power prayer prefect prenatal preppie present preset preteens pretense price prince princes
princess proper prosper psalmist pubic public punster punters purse pursue quiet quite radial radical raged ranged
ranting rapiers raspier rating reacted reaction reactor reality realty recourse rector redacted redaction refuse refused
reign relay relied relieve relive relived reliving remainder reminder renal rental repay repeal repel replay replied
reply resent reserve reserved reserving reset reside residue resign resorted resorting resource restored restoring
restrain retrains reuse reused revered reverse reversed reversing reverted reviled reviling rogue rouge sable sacred
salted saltest salting scared scepter scoured scouring seeding seething seized selling sender sending server setting
settling sever shared sheeting shingle shipping shooting shred siding sidling signed signing singed singing single
singling sipping sized skating slated slating sleeted sleeting slender sliding slinging snatche snatched snatching
snooped snooping soothing sortied sorting sourced sourcing spared sparked specter speeding spelling spending spooned
spoonfuls spooning spoonsful sporting spotlight spriest sprites stable stain stained staking stale stalest staling
stanche stanched stanching stand staple stared staring starlet started starting startle state stated stating statue
stature statute steam steamed steeled steeling sting stocked stoked stoplight stored storied storing stormed storming
strain strained strand stream streamed string struck stuck tablespoonfuls tablespoonsful takings tardier tarried tasking
teaspoonfuls teaspoonsful there thickets thickset thorough though thread threading three through tiered tilted timber
timer tired titled topical tough traced tracer tracing tracked tracker tracking trading trail transit transmit tread
treading trial tribal tried tropical trough tumbler tumbrel tuned turned tying typing union unison united untied violent
violet waist waiter waits water weather weighed weight weighted wheedle wheeled widow wiggler wight window wordier
worried wreathe wriggle
"""
_CONFUSABLE_WORDS: Final = frozenset(_WORDS.split())
"""Words that differ by one slip from another of these words, so that neither is a misspelling."""

_HUMPS: Final = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_NUMBER: Final = re.compile(r"(?<![\dvV])\d+")
"""Digits that do not look like a version: the table `orders_v2` may well be the former `orders_v1`."""

_WORD: Final = re.compile(r"\d+|[^\W\d_]+")
_DOUBLED: Final = re.compile(r"(.)\1")
_SHORTEST_DOUBLED: Final = 4
"""Letters of the shortest words in which doubled letters count once: `ii` is not a spelling of `i`."""


def name_likeness(before: str, after: str) -> float:
    """Return how alike two names are: 1 for the same words however they are written, 0 for two things."""
    old, new = _name(before), _name(after)
    if old.numbers != new.numbers or not old.letters:
        return 0.0
    if old.letters == new.letters:
        return 1.0
    only_old, only_new = old.words.keys() - new.words.keys(), new.words.keys() - old.words.keys()
    is_misspelled = _is_one_misspelling(old, new, only_old, only_new)
    if not is_misspelled:
        extra_words = only_old - _EMPTY_WORDS, only_new - _EMPTY_WORDS
        if all(extra_words) or any(len(word) > 1 for words in extra_words for word in words):
            return 0.0
    common = old.words.keys() & new.words.keys()
    alike = len(common) + is_misspelled
    if not alike:
        return 0.0
    equal = sum(old.words[word] == new.words[word] for word in common)
    return 2 * (equal + _ABBREVIATED * (alike - equal)) / (len(old.words) + len(new.words))


def are_siblings(before: str, after: str) -> bool:
    """Return whether two names differ in numbers, or in words but share one: ``sales_eu``, ``sales_us``."""
    numbers = _NUMBER.findall(before), _NUMBER.findall(after)
    if all(numbers) and numbers[0] != numbers[1]:
        return True
    old, new = _name(before), _name(after)
    extra_words = tuple(
        {word for word in words if not word.isdigit()}
        for words in (old.words.keys() - new.words.keys(), new.words.keys() - old.words.keys())
    )
    has_common = any(not word.isdigit() for word in old.words.keys() & new.words.keys())
    return has_common and all(extra_words) and not _is_one_misspelling(old, new, *extra_words)


def is_misspelling(before: str, after: str) -> bool:
    """Return whether two words differ by a slip behind the first letter.

    A slip is two letters swapped, one in another place, one more or less.
    The last letter is another one in other forms of a word (``close``, ``closed``), so only a doubled one is a slip.
    """
    words = before, after
    if all(word.endswith("s") and not word.endswith("ss") for word in words):
        words = before[:-1], after[:-1]
    if before[:1] != after[:1] or any(_CONFUSABLE_WORDS.issuperset(pair) for pair in (words, (before, after))):
        return False
    shorter, longer = sorted(words, key=len)
    match _slip(shorter, longer):
        case _Slip.SWAPPED:
            return len(longer) >= _SHORTEST_SWAPPED
        case _Slip.REORDERED:
            return len(longer) >= _SHORTEST_REORDERED
        case _Slip.ONE_MORE:
            is_inside = not longer.startswith(shorter) or longer[-1] == shorter[-1]
            return len(longer) >= _SHORTEST_WITH_LETTER and is_inside
    return False


def misspelled_name(name: str, known_names: Iterable[str]) -> str | None:
    """Return the known name that the user may have meant: one word, however short, differs by one slip."""
    words = _words_in(name)
    for other in known_names:
        other_words = _words_in(other)
        pairs = [pair for pair in zip(words, other_words, strict=False) if pair[0] != pair[1]]
        if len(words) == len(other_words) and len(pairs) == 1:
            shorter, longer = sorted(pairs[0], key=len)
            slip = None if longer.isdecimal() else _slip(shorter, longer)
            if slip is not None and len(longer) >= _SHORTEST_TYPED[slip]:
                return other
    return None


class _Slip(Enum):
    """How two words differ by one keystroke."""

    SWAPPED = auto()
    REORDERED = auto()
    ONE_MORE = auto()
    ANOTHER = auto()


_SHORTEST_TYPED: Final = {_Slip.SWAPPED: 4, _Slip.REORDERED: 6, _Slip.ONE_MORE: 4, _Slip.ANOTHER: 6}
"""Letters of the shortest words for which the user is asked."""


def _slip(shorter: str, longer: str) -> _Slip | None:
    """Return the only slip between two words; None if they differ by more.

    Two neighbors are swapped, two letters further apart are, or one letter is in another place; a letter is more, or
    another one.
    """
    start = next((index for index, letter in enumerate(shorter) if letter != longer[index]), len(shorter))
    short_end, long_end = shorter[start:], longer[start:]
    if len(shorter) < len(longer):
        return _Slip.ONE_MORE if short_end == long_end[1:] else None
    if short_end[1:] == long_end[1:]:
        return _Slip.ANOTHER if short_end else None
    if short_end[1::-1] + short_end[2:] == long_end:
        return _Slip.SWAPPED
    last = next(index for index in range(len(short_end), 0, -1) if short_end[index - 1] != long_end[index - 1])
    short, long = short_end[:last], long_end[:last]
    is_swapped = short[1:-1] == long[1:-1] and (short[0], short[-1]) == (long[-1], long[0])
    is_moved = short[1:] + short[0] == long or short[-1] + short[:-1] == long
    return _Slip.REORDERED if is_swapped or is_moved else None


def _is_one_misspelling(old: _Name, new: _Name, old_words: Collection[str], new_words: Collection[str]) -> bool:
    """Return whether each name has one word that the other lacks, and one is a misspelling of the other."""
    if len(old_words) != 1 or len(new_words) != 1:
        return False
    (before,), (after,) = old_words, new_words
    return is_misspelling(old.words[before], new.words[after])


class _Name(NamedTuple):
    """The letters of a name, its numbers in order, and its words as written, by their normalized form."""

    letters: str
    numbers: tuple[int, ...]
    words: Mapping[str, str]


@lru_cache(maxsize=65536)
def _name(name: str) -> _Name:
    words = _words_in(name)
    numbers = tuple(int(word) for word in words if word.isdecimal())
    return _Name("".join(words), numbers, {_meant(word): word for word in words})


def _words_in(name: str) -> list[str]:
    return [word.casefold() for word in _WORD.findall(_HUMPS.sub("_", name))]


@lru_cache(maxsize=65536)
def _meant(word: str) -> str:
    """Return a word in full and in the singular, without accents, doubled letters and British spelling.

    Numbers have no leading zeros.
    """
    if word.isdecimal():
        return str(int(word))
    stem = _ABBREVIATIONS.get(word, word)
    for ending, instead, least in _ENDINGS:
        if stem.endswith(ending) and len(stem) >= least:
            stem = stem.removesuffix(ending) + instead
            break
    letters = "".join(letter for letter in unicodedata.normalize("NFKD", stem) if not unicodedata.combining(letter))
    for british, american in _SPELLINGS:
        letters = letters.replace(british, american)
    return _DOUBLED.sub(r"\1", letters) if len(letters) >= _SHORTEST_DOUBLED else letters


_EMPTY_WORDS: Final = frozenset(
    map(_meant, ("of", "the", "for", "in", "at", "on", "address", "value", "field", "column"))
)
"""Words that make no other thing of a name: ``email`` and ``email_address``, ``created`` and ``created_at``."""
