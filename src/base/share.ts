/** JSON and SQL have no infinity. This number compares like it. */
const UNLIMITED = 2 ** 53 - 1

/** The share of a lease as a store writes it. */
export function encodeShare(share: number | null | undefined): number | null {
  return share === Infinity ? UNLIMITED : (share ?? null)
}

/** The share that a store has written. */
export function decodeShare(stored: number | null | undefined): number | null {
  return stored === UNLIMITED ? Infinity : (stored ?? null)
}

export function isShare(value: unknown): value is number {
  return value === Infinity || (Number.isSafeInteger(value) && (value as number) >= 1)
}
