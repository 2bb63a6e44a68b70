// Finds things by a few letters of their names.

// Whether the letters of `wanted` come in this order; less is a better match.
export function distance(wanted: string, text: string): number | null {
  const lower = text.toLowerCase();
  const letters = wanted.toLowerCase();
  const whole = lower.indexOf(letters);
  if (whole >= 0) return whole;
  let at = -1;
  let gaps = 0;
  for (const letter of letters) {
    const next = lower.indexOf(letter, at + 1);
    if (next < 0) return null;
    gaps += next - at - 1;
    at = next;
  }
  return 100 + gaps;
}

// The best of them, at most `most`; of equal ones, the first.
export function best<Item>(wanted: string, items: readonly Item[], textOf: (item: Item) => string, most: number): Item[] {
  if (wanted === "") return items.slice(0, most);
  return items
    .map((item) => ({ item, distance: distance(wanted, textOf(item)) }))
    .filter((each): each is { item: Item; distance: number } => each.distance !== null)
    .sort((left, right) => left.distance - right.distance)
    .slice(0, most)
    .map((each) => each.item);
}
