"""Makes the words that the counter speaks, with espeak-ng and lame (packages of Debian).

    python -m tools.spoken_words [FOLDER]

The voice is synthesized. espeak-ng has no Dhivehi, so its Sinhala voice reads phonemes. A recording
replaces a file: docs/tills.md says how.
"""

import io
import subprocess
import sys
import wave
from array import array
from pathlib import Path

from laari.edge.pages.assets import SPEECH
from laari.rules.merchants.spoken_amounts import WORDS

VOICES = {"en": "en-gb+f3", "dv": "si+f3"}
WORDS_A_MINUTE = "150"
RATE, KILOBITS = "16", "24"  # kHz and a second: enough for a voice
SILENCE = 300  # of 32,767: what is quieter at both ends is cut off
EDGE_SECONDS = 0.02  # what stays of it
# Of espeak-ng; an English word without any is read as it is written.
PHONEMES = {
    "en": {"rufiyaa": "rUf'i:ja:", "laari": "l'A:ri"},
    "dv": {
        "eh": "'e?",
        "dhe": "d'e",
        "thin": "t'in",
        "hatharu": "h'ataru",
        "fas": "f'as",
        "ha": "h'a",
        "hai": "h'ai",
        "ah": "'a?",
        "nuva": "n'uva",
        "dhiha": "d'iha",
        "egaara": "eg'a:ra",
        "baara": "b'a:ra",
        "theyra": "t'e:ra",
        "saadha": "s'a:da",
        "fanara": "f'anara",
        "soalha": "s'o:l.a",
        "sathaara": "sat'a:ra",
        "ashaara": "as.'a:ra",
        "onavihi": "on'avihi",
        "vihi": "v'ihi",
        "ekaavees": "ek'a:vi:s",
        "baavees": "b'a:vi:s",
        "theyvees": "t'e:vi:s",
        "sauvees": "s'auvi:s",
        "fansavees": "f'ansavi:s",
        "sabbees": "s'abbi:s",
        "hathaavees": "hat'a:vi:s",
        "ashaavees": "as.'a:vi:s",
        "onathirees": "on'atiri:s",
        "thirees": "t'iri:s",
        "saalhees": "s'a:l.i:s",
        "fansaas": "f'ansa:s",
        "fasdholhas": "f'asdol.as",
        "haidhiha": "h'aidiha",
        "addiha": "'addiha",
        "nuvadhiha": "n'uvadiha",
        "satheyka": "sat'e:ka",
        "dhuisaththa": "d'uis,atta",
        "lakka": "l'akka",
        "haas": "h'a:s",
        "rufiyaa": "r'ufija:",
        "laari": "l'a:ri",
        "libijje": "lib'iddZe",
    },
}


def speak(language: str, word: str) -> bytes:
    """An mp3 file of one word."""
    phonemes = PHONEMES[language].get(word)
    text = word if phonemes is None else f"[[{phonemes}]]"
    speaking = ("espeak-ng", "-v", VOICES[language], "-s", WORDS_A_MINUTE, "--stdout", text)
    encoding = ("lame", "--quiet", "-m", "m", "--resample", RATE, "-b", KILOBITS, "-", "-")
    return _run(*encoding, given=trimmed(_run(*speaking)))


def trimmed(sound: bytes) -> bytes:
    """The same sound without the silence around it."""
    with wave.open(io.BytesIO(sound)) as file:
        samples = array("h", file.readframes(len(sound)))  # espeak-ng does not know the length
        settings = file.getparams()
    loud = [place for place, sample in enumerate(samples) if abs(sample) > SILENCE]
    edge = int(settings.framerate * EDGE_SECONDS)
    kept = samples[max(loud[0] - edge, 0) : loud[-1] + edge]
    made = io.BytesIO()
    with wave.open(made, "wb") as file:
        file.setparams(settings._replace(nframes=len(kept)))
        file.writeframes(kept.tobytes())
    return made.getvalue()


def _run(*command: str, given: bytes | None = None) -> bytes:
    return subprocess.run(  # noqa: S603  # words of our own
        command, input=given, stdout=subprocess.PIPE, check=True
    ).stdout


def main() -> None:
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else SPEECH
    for language, words in WORDS.items():
        place = folder / language
        place.mkdir(parents=True, exist_ok=True)
        for word in words:
            (place / f"{word}.mp3").write_bytes(speak(language, word))
        size = sum(path.stat().st_size for path in place.iterdir())
        print(f"{place}: {len(words)} words, {size:,} bytes")


if __name__ == "__main__":
    main()
