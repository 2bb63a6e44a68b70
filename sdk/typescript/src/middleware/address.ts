import { isIP } from 'node:net';

/** The eight groups of an IPv6 address. REQUIRES: `isIP(address) === 6`, without a zone. */
function groupsOf(address: string): number[] {
  let text = address;
  const dotted = /^(.*:)(\d+)\.(\d+)\.(\d+)\.(\d+)$/.exec(text);
  if (dotted) {
    const [a, b, c, d] = dotted.slice(2).map(Number) as [number, number, number, number];
    text = `${dotted[1]}${((a << 8) | b).toString(16)}:${((c << 8) | d).toString(16)}`;
  }
  const [head = '', tail] = text.split('::');
  const numbers = (part: string): number[] => (part === '' ? [] : part.split(':').map((group) => Number.parseInt(group, 16)));
  const first = numbers(head);
  if (tail === undefined) return first;
  const last = numbers(tail);
  return [...first, ...Array<number>(8 - first.length - last.length).fill(0), ...last];
}

/** An address as a check names it: IPv4 mapped into IPv6 as IPv4, without a zone. Undefined if it is none. */
export function plainAddress(given: string | undefined): string | undefined {
  const address = given?.replace(/%.*$/, '');
  if (address === undefined || isIP(address) === 0) return undefined;
  if (isIP(address) === 4) return address;
  const groups = groupsOf(address);
  if (groups.slice(0, 5).some((group) => group !== 0) || groups[5] !== 0xffff) return address;
  return [groups[6]! >> 8, groups[6]! & 255, groups[7]! >> 8, groups[7]! & 255].join('.');
}

/** The subject of a client by its address. An IPv6 address stands for its /64: that is what one customer has. */
export function subjectOf(address: string | undefined): string {
  const plain = plainAddress(address);
  if (plain === undefined) return 'ip:unknown';
  if (isIP(plain) === 4) return `ip:${plain}`;
  const network = groupsOf(plain).slice(0, 4);
  while (network.length > 0 && network.at(-1) === 0) network.pop();
  return `ip:${network.map((group) => group.toString(16)).join(':')}::/64`;
}
