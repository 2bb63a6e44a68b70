// Shares for people: "43 %", "0.4 %".
export function shareText(share: number): string {
  const percent = share * 100;
  const shown = percent > 0 && percent < 1 ? percent.toFixed(1) : String(Math.round(percent));
  return `${shown} %`;
}
