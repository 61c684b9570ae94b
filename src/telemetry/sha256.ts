/**
 * SHA-256 (FIPS 180-4), first 16 hexadecimal digits. Web Crypto's digest is asynchronous, and lines must be
 * made at once when a process is told to end.
 */
export function shortSha256(text: string): string {
  const bytes = padded(utf8.encode(text))
  const state = INITIAL.slice()
  const view = new DataView(bytes.buffer)
  for (let block = 0; block < bytes.length; block += 64) {
    for (let i = 0; i < 16; i++) schedule[i] = view.getInt32(block + 4 * i)
    compress(state, schedule)
  }
  return hex(state, 0) + hex(state, 1)
}

const utf8 = new TextEncoder()
/** Written anew for every block. */
const schedule = new Int32Array(64)

/** The first 32 bits of the fractional parts of the square and cube roots of the first primes. */
const PRIMES = firstPrimes(64)
const INITIAL = Int32Array.from(PRIMES.slice(0, 8), (prime) => fraction(Math.sqrt(prime)))
const ROUND = Int32Array.from(PRIMES, (prime) => fraction(Math.cbrt(prime)))

function firstPrimes(count: number): number[] {
  const primes: number[] = []
  for (let n = 2; primes.length < count; n++) if (primes.every((prime) => n % prime !== 0)) primes.push(n)
  return primes
}

function fraction(value: number): number {
  return ((value % 1) * 2 ** 32) | 0
}

/** A one, zeros, and the length in bits in the last eight bytes. */
function padded(message: Uint8Array): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(Math.ceil((message.length + 9) / 64) * 64)
  bytes.set(message)
  bytes[message.length] = 0x80
  new DataView(bytes.buffer).setUint32(bytes.length - 4, message.length * 8)
  return bytes
}

function compress(state: Int32Array, w: Int32Array): void {
  const at = (array: Int32Array, i: number) => array[i] as number
  for (let i = 16; i < 64; i++) {
    const a = at(w, i - 15)
    const b = at(w, i - 2)
    const s0 = turn(a, 7) ^ turn(a, 18) ^ (a >>> 3)
    const s1 = turn(b, 17) ^ turn(b, 19) ^ (b >>> 10)
    w[i] = (at(w, i - 16) + s0 + at(w, i - 7) + s1) | 0
  }
  let [a, b, c, d, e, f, g, h] = state as unknown as [
    ...[number, number, number, number],
    ...[number, number, number, number],
  ]
  for (let i = 0; i < 64; i++) {
    const s1 = turn(e, 6) ^ turn(e, 11) ^ turn(e, 25)
    const t1 = (h + s1 + ((e & f) ^ (~e & g)) + at(ROUND, i) + at(w, i)) | 0
    const s0 = turn(a, 2) ^ turn(a, 13) ^ turn(a, 22)
    const t2 = (s0 + ((a & b) ^ (a & c) ^ (b & c))) | 0
    h = g
    g = f
    f = e
    e = (d + t1) | 0
    d = c
    c = b
    b = a
    a = (t1 + t2) | 0
  }
  for (const [i, word] of [a, b, c, d, e, f, g, h].entries()) state[i] = (at(state, i) + word) | 0
}

function turn(word: number, by: number): number {
  return (word >>> by) | (word << (32 - by))
}

function hex(state: Int32Array, index: number): string {
  return ((state[index] as number) >>> 0).toString(16).padStart(8, '0')
}
