// Entries by words: theory/words.py, which makes `index`, line by line. Both have the same scores, to the last digit.
function answers(index, question) {
  const known = new Map(Object.entries(index.weights)), meant = new Map(Object.entries(index.meant));
  const phrases = Object.entries(index.phrases), phrased = [...new Set(phrases.flatMap(([phrase]) => phrase.split(" ")))];
  const scores = new Map(), there = new Map();
  for (const word of new Set(words(spelled(question)))) {
    const best = new Map();
    for (const [other, share] of alike(word)) {
      const listed = known.get(other) ?? [];
      for (let k = 0; k < listed.length; k += 2) best.set(listed[k], Math.max(best.get(listed[k]) ?? 0, share * listed[k + 1]));
    }
    for (const [number, score] of best) {
      scores.set(number, (scores.get(number) ?? 0) + score);
      there.set(number, (there.get(number) ?? 0) + 1);
    }
  }
  const total = number => scores.get(number) * there.get(number);
  return [...scores.keys()].sort((a, b) => total(b) - total(a) || a - b).map(number => [index.ids[number], total(number)]);

  function plain(text) {
    return (text.toLowerCase().match(/[a-z0-9]+/g) ?? []).join(" ");
  }

  function stem(word) {
    for (const [suffix, instead, least] of index.suffixes) {
      if (word.endsWith(suffix) && !word.endsWith("ss") && word.length - suffix.length >= least) return word.slice(0, -suffix.length) + instead;
    }
    return word;
  }

  function words(text) {
    let padded = ` ${plain(text)} `;
    for (const [phrase, instead] of phrases) padded = padded.replaceAll(` ${phrase} `, ` ${instead} `);
    const kept = padded.split(" ").filter(word => word && !index.stop.includes(word) && (word.length > 1 || /\d/.test(word)));
    return kept.map(stem).map(each => meant.get(each) ?? each);
  }

  function spelled(text) {
    const right = word => phrased.includes(word) || index.stop.includes(word) || known.has(word) || meant.has(word);
    return plain(text).split(" ").map(word => (right(word) || right(stem(word)) ? word : phrased.find(each => off(word, each)) ?? word)).join(" ");
  }

  function alike(word) {
    if (known.has(word)) return [[word, 100]];
    const begun = [...known.keys()].filter(each => word.length > 2 && each.startsWith(word));
    if (begun.length) return begun.map(each => [each, index.begun]);
    const near = [...known.keys(), ...meant.keys()].map(each => [each, off(word, each)]).filter(([, letters]) => letters);
    const least = Math.min(...near.map(([, letters]) => letters));
    return near.filter(([, letters]) => letters === least).map(([each]) => [meant.get(each) ?? each, index.mistyped[least]]);
  }

  function off(word, other) {
    const most = index.long.filter(least => word.length >= least).length;
    const letters = Math.abs(other.length - word.length) <= most ? distance(word, other) : most + 1;
    return letters <= most ? letters : 0;
  }

  function distance(one, other) {
    let last = [], before = [], row = [...Array(other.length + 1).keys()];
    for (let i = 1; i <= one.length; i++) {
      [last, before, row] = [before, row, [i]];
      for (let j = 1; j <= other.length; j++) {
        let steps = Math.min(before[j] + 1, row[j - 1] + 1, before[j - 1] + (one[i - 1] !== other[j - 1]));
        if (i > 1 && j > 1 && one[i - 1] === other[j - 2] && one[i - 2] === other[j - 1]) steps = Math.min(steps, last[j - 2] + 1);
        row.push(steps);
      }
    }
    return row.at(-1);
  }
}
