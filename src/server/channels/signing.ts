import { refuse } from './refuse.ts'

const SIGNATURE = /^[0-9a-f]{64}$/
/** Without a colon, since the signed text would be that of another channel otherwise. */
const SOCKET_ID = /^\d+\.\d+$/

/** Signatures that let one socket into one private or presence channel: HMAC-SHA256 of what it is let into. */
export class Signing {
  readonly #key: string
  readonly #secret: Promise<CryptoKey>

  constructor(key: string, secret: string) {
    this.#key = key
    const usages = ['sign', 'verify'] as const
    const algorithm = { name: 'HMAC', hash: 'SHA-256' }
    this.#secret = crypto.subtle.importKey('raw', utf8(secret), algorithm, false, usages)
  }

  async sign(socketId: string, channel: string, channelData: string | undefined): Promise<string> {
    if (!SOCKET_ID.test(socketId)) refuse('socketId', 'two numbers with a point between', socketId)
    if (!isSigned(channel)) refuse('channel', 'a private- or presence- channel', channel)
    if (isPresence(channel) && channelData === undefined)
      refuse('channelData', 'the data of a member', channelData)
    const text = signedText(socketId, channel, channelData)
    const signature = await crypto.subtle.sign('HMAC', await this.#secret, utf8(text))
    return `${this.#key}:${hexOf(new Uint8Array(signature))}`
  }

  /** Compares in constant time, as `verify` does. */
  async verify(auth: unknown, socketId: string, channel: string, channelData: string): Promise<boolean> {
    if (typeof auth !== 'string' || !auth.startsWith(`${this.#key}:`)) return false
    const signature = auth.slice(this.#key.length + 1)
    if (!SIGNATURE.test(signature)) return false
    const text = signedText(socketId, channel, channelData)
    return crypto.subtle.verify('HMAC', await this.#secret, bytesOf(signature), utf8(text))
  }
}

export function isPresence(channel: string): boolean {
  return channel.startsWith('presence-')
}

/** Whether one needs a signature to subscribe. */
export function isSigned(channel: string): boolean {
  return channel.startsWith('private-') || isPresence(channel)
}

function signedText(socketId: string, channel: string, channelData: string | undefined): string {
  return isPresence(channel) ? `${socketId}:${channel}:${channelData}` : `${socketId}:${channel}`
}

function utf8(text: string): Uint8Array<ArrayBuffer> {
  return new TextEncoder().encode(text)
}

function hexOf(bytes: Uint8Array): string {
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('')
}

function bytesOf(hex: string): Uint8Array<ArrayBuffer> {
  return Uint8Array.from(hex.match(/../g) ?? [], (digits) => Number.parseInt(digits, 16))
}
