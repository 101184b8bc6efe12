"""Renders a section with hostile texts in all text fields of its schemas, and reports the fields whose texts become
something else than texts.

All fields are tried at once, in two renders; each is looked at alone only if something has changed. Fields that do not
show, because others hide them, are tried again with the other values as they were, and with all switches turned.

Hooks do not run here: fields that they set are in the schemas, too, and get texts as if a hook had passed them on.
"""

from collections.abc import Awaitable, Callable, Iterator, Sequence
from pathlib import Path

from hookrunner.errors import BadChart, BadManifest, BadPatch, KubeError, RenderFailed
from hookrunner.linting.hostile_texts import FieldTexts, HostileText, Rendered, alone, texts_for
from hookrunner.linting.modules.module_remarks import ModuleRemark, in_yaml
from hookrunner.linting.text_fields import WORD, SectionRules, TextField, text_fields, toggled
from kubetypes.json_values import JSON
from kubetypes.light_dataclasses import dataclass

Render = Callable[[JSON], Awaitable[Sequence[JSON]]]
"""Renders a section of the values; the objects and Helm hooks. Raises BadChart, RenderFailed."""

_MOST_FIELDS = 1000
"""A look at each alone then takes half a minute."""
_REFUSALS = (RenderFailed, BadChart, BadPatch, KubeError)
_CHART_HINT = "write it by `quote` or `toJson`, or in a block (`|`) by `nindent N`"
_FILES_HINT = "let its placeholder be a whole value, or stand in a block with `{value: …, indent: N}`"
_PATTERN_HINT = "give it a `pattern` in the schema"
_CODES = {
    "text-escapes": "changes the number, kinds, names or namespaces of objects",
    "text-unquoted": "is not quoted, so that no YAML is rendered",
    "name-unchecked": "names an object, and the schema accepts any text",
    "text-changed": "does not come back as the same text",
}

_ORDER = tuple(_CODES)
"""The worst first."""


@dataclass(frozen=True, slots=True)
class TextSubject:
    """What is rendered: a section, with the rules of those who set values and of hooks. `directory` has the files of
    the schemas; `is_chart`: templates write the objects, not placeholders."""

    directory: Path
    rules: Sequence[SectionRules]
    section: JSON
    render: Render
    is_chart: bool


@dataclass(frozen=True, slots=True)
class _Probe:
    """A field with its texts."""

    field: TextField
    texts: FieldTexts


@dataclass(frozen=True, slots=True)
class _Verdict:
    code: str
    detail: str = ""


async def check_texts(subject: TextSubject) -> list[ModuleRemark]:
    """A remark for each field whose texts are not carried as texts, at its schema."""
    fields = text_fields(*(rules.root for rules in subject.rules))
    check, left = _TextCheck(subject), _probes(fields, subject.rules)
    for stirred in (False, False, True):
        if left:
            section = _stirred(subject, fields) if stirred else subject.section
            left = await check.try_together(left, section)
    return check.remarks


def _probes(fields: Sequence[TextField], rules: Sequence[SectionRules]) -> list[_Probe]:
    """The fields that take hostile texts. The field's own schema is asked first: it is quick."""
    found = list[_Probe]()
    for number, field in enumerate(fields[:_MOST_FIELDS]):
        texts = texts_for(number, field.accepts, field.is_key)
        tried = (texts.word, *(each.text for each in texts.hostile)) if texts else ()
        if texts and all(one.accept(field, text) for one in rules for text in tried):
            found.append(_Probe(field, texts))
    return found


def _stirred(subject: TextSubject, fields: Sequence[TextField]) -> JSON:
    """The section with all switches turned, and with a word in each field that takes no hostile text."""
    root = max((rules.root for rules in subject.rules), key=lambda root: len(root.properties))  # it has the others'
    section = toggled(root, subject.section)
    for field in fields[:_MOST_FIELDS]:
        if texts_for(0, field.accepts) is None and field.accepts(WORD):
            section = field.with_text(section, WORD)
    return section


def _is_carried(probe: _Probe, text: HostileText, hostile: Rendered, plain: Rendered) -> bool:
    """Is a text found as often as a word, in the same objects?"""
    return hostile.identities == plain.identities and hostile.count(text.text) >= plain.count(probe.texts.word)


def _with_words(section: JSON, probes: Sequence[_Probe]) -> JSON:
    return _with_texts(section, [(probe, probe.texts.word) for probe in probes])


def _with_texts(section: JSON, texts: Sequence[tuple[_Probe, str]]) -> JSON:
    for probe, text in texts:
        section = probe.field.with_text(section, text)
    return section


class _TextCheck:
    """Tries fields of one subject and collects remarks."""

    def __init__(self, subject: TextSubject) -> None:
        self._subject = subject
        self.remarks: list[ModuleRemark] = []
        self._is_hopeless = False
        """Nothing is rendered, also without texts in the fields."""

    async def try_together(self, probes: Sequence[_Probe], section: JSON) -> list[_Probe]:
        """Try fields at once; those that no object shows. Where harmless words are refused, fewer are tried."""
        plain = await self._render(_with_words(section, probes))
        if plain is None:
            self._is_hopeless = self._is_hopeless or await self._render(section) is None
            if len(probes) == 1 or self._is_hopeless:
                return list(probes)
            half = len(probes) // 2
            return [
                hidden for some in (probes[:half], probes[half:]) for hidden in await self.try_together(some, section)
            ]
        for probe in await self._suspicious(probes, section, plain):
            others = [other for other in probes if other is not probe]
            await self._try_alone(probe, _with_words(section, others))
        return [probe for probe in probes if not plain.count(probe.texts.word)]

    async def _suspicious(self, probes: Sequence[_Probe], section: JSON, plain: Rendered) -> list[_Probe]:
        """The fields that may have changed something: all that were tried with it, or whose text is found less often
        than a word."""
        found = dict[int, _Probe]()
        for number in range(max(len(probe.texts.hostile) for probe in probes)):
            tried = [(probe, probe.texts.hostile[number]) for probe in probes if number < len(probe.texts.hostile)]
            rest = [probe for probe in probes if number >= len(probe.texts.hostile)]
            texts = [(probe, text.text) for probe, text in tried]
            hostile = await self._try_render(_with_texts(_with_words(section, rest), texts))
            if hostile is None and all(text.may_be_refused for _, text in tried):
                continue
            for probe, text in tried:
                if not (isinstance(hostile, Rendered) and _is_carried(probe, text, hostile, plain)):
                    found[id(probe)] = probe
        return list(found.values())

    async def _try_alone(self, probe: _Probe, section: JSON) -> None:
        plain = await self._render(probe.field.with_text(section, probe.texts.word))
        if plain is None:
            return
        for text in probe.texts.hostile:
            if verdict := await self._verdict(probe, section, plain, text):
                apart = [(one.parts[0], await self._verdict(probe, section, plain, one)) for one in alone(text)]
                wrong = {part: found for part, found in apart if found}
                worst = min((verdict, *wrong.values()), key=lambda found: _ORDER.index(found.code))
                self.remarks.append(self._remark(probe, worst, tuple(wrong) or text.parts, plain))
                return

    async def _verdict(self, probe: _Probe, section: JSON, plain: Rendered, text: HostileText) -> _Verdict | None:
        """What is wrong with a field that has this text; None if nothing is, or if the text is refused: a template, or
        the order of steps, has looked at it."""
        word = probe.texts.word
        found = await self._try_render(probe.field.with_text(section, text.text))
        if found is None:
            return None
        if isinstance(found, BadManifest):
            return _Verdict("text-unquoted" if "not YAML" in str(found) else "text-escapes", str(found))
        if found.identities != plain.identities:
            if plain.is_named(word):
                return _Verdict("name-unchecked")
            other = await self._render(probe.field.with_text(section, probe.texts.other))
            is_hashed = other is not None and other.identities != plain.identities
            if not is_hashed or found.kinds != plain.kinds:
                return _Verdict("text-escapes")
        if found.count(text.text) < plain.count(word):
            similar = await self._render(probe.field.with_text(section, text.harmless))
            if similar and similar.count(text.harmless) >= plain.count(word):
                return _Verdict("text-changed")
        return None

    async def _render(self, section: JSON) -> Rendered | None:
        """What a section leads to; None if it cannot be rendered."""
        rendered = await self._try_render(section)
        return None if isinstance(rendered, BadManifest) else rendered

    async def _try_render(self, section: JSON) -> Rendered | BadManifest | None:
        """What a section leads to, or what is wrong with the manifest; None if it is refused."""
        try:
            return Rendered(await self._subject.render(section))
        except BadManifest as error:
            return error
        except _REFUSALS:
            return None

    def _remark(self, probe: _Probe, verdict: _Verdict, parts: Sequence[str], plain: Rendered) -> ModuleRemark:
        path, _, pointer = probe.field.place.partition("#")
        detail = f" ({verdict.detail})" if verdict.detail else ""
        text = "".join(self._words(probe, verdict, parts, plain)) + detail
        return ModuleRemark(path, in_yaml(self._subject.directory / path, pointer), verdict.code, text)

    def _words(self, probe: _Probe, verdict: _Verdict, parts: Sequence[str], plain: Rendered) -> Iterator[str]:
        is_name = verdict.code == "name-unchecked"
        yield f"{'a key' if probe.field.is_key else 'a text'} of `{probe.field}` "
        yield _CODES[verdict.code] if is_name else f"with {', '.join(parts)} {_CODES[verdict.code]}"
        if where := plain.where(probe.texts.word):
            yield f", in {where.replace(probe.texts.word, '…')}"
        hint = _CHART_HINT if self._subject.is_chart else _FILES_HINT
        yield f": {_PATTERN_HINT if is_name else f'{hint}, or {_PATTERN_HINT}'}"
