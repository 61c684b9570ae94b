const UNITS: Readonly<Record<string, number>> = { ms: 1, s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 }

/** Whole milliseconds of `500ms`, `30s`, `1.5m`, `2h`, `1d`, or of a plain number of them; `undefined` for what is none. */
export function durationMs(text: string): number | undefined {
  const [, amount, unit = 'ms'] = /^(\d+(?:\.\d+)?)(ms|s|m|h|d)?$/.exec(text.trim()) ?? []
  return amount === undefined ? undefined : Math.round(Number(amount) * (UNITS[unit] ?? 1))
}
