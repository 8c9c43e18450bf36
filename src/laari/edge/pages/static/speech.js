// Speaks the amount of a paid sale, word by word. The counter loads this script once its seller chooses a
// language; `choice` is the field for it.
const AFTER = 0.5; // seconds: the sound comes first
const voices = {}; // by address: a promise of the words as Base64
let next = null; // what waits while an amount is spoken: the newest one only
let speaking = false;

export function load(choice) {
  const address = choice.selectedOptions[0].dataset.words;
  voices[address] ??= fetch(address)
    .then((answer) => answer.json())
    .catch(() => {
      delete voices[address]; // another sale tries again
    });
  return voices[address];
}

async function speak(sounds, names, voice) {
  const bytes = (name) => Uint8Array.from(atob(voice[name]), (letter) => letter.charCodeAt(0)).buffer;
  const words = await Promise.all(names.map((name) => sounds.decodeAudioData(bytes(name))));
  let at = sounds.currentTime + AFTER;
  for (const word of words) {
    const source = sounds.createBufferSource();
    source.buffer = word;
    source.connect(sounds.destination);
    source.start(at);
    at += word.duration;
  }
  await new Promise((done) => setTimeout(done, (at - sounds.currentTime) * 1000));
}

export async function say(sounds, place, choice) {
  next = place;
  if (speaking) return;
  speaking = true;
  while (next) {
    const names = choice.value && next.getAttribute(`data-spoken-${choice.value}`);
    next = null;
    try {
      if (names && sounds.state === "running") await speak(sounds, names.split(" "), await load(choice));
    } catch {
      // The page is green and has made its sound: the words are missing.
    }
  }
  speaking = false;
}
