/** Signs texts with HMAC-SHA256. A signature is hexadecimal. */
export class Signer {
  readonly #key: Promise<CryptoKey>

  constructor(secret: string) {
    const algorithm = { name: 'HMAC', hash: 'SHA-256' }
    this.#key = crypto.subtle.importKey('raw', utf8(secret), algorithm, false, ['sign', 'verify'])
  }

  async sign(text: string): Promise<string> {
    return toHex(await crypto.subtle.sign('HMAC', await this.#key, utf8(text)))
  }

  /** Compares in constant time. */
  async verify(text: string, signature: string): Promise<boolean> {
    if (!/^[0-9a-f]{64}$/.test(signature)) return false
    return crypto.subtle.verify('HMAC', await this.#key, fromHex(signature), utf8(text))
  }
}

/** The first 128 bits of a SHA-256 hash over all parts. */
export async function digest(...parts: readonly string[]): Promise<string> {
  const hash = await crypto.subtle.digest('SHA-256', utf8(JSON.stringify(parts)))
  return toHex(hash).slice(0, 32)
}

function utf8(text: string): Uint8Array<ArrayBuffer> {
  return new TextEncoder().encode(text)
}

function toHex(bytes: ArrayBuffer): string {
  return Array.from(new Uint8Array(bytes), (byte) => byte.toString(16).padStart(2, '0')).join('')
}

function fromHex(text: string): Uint8Array<ArrayBuffer> {
  return Uint8Array.from(text.match(/../g) ?? [], (pair) => Number.parseInt(pair, 16))
}
