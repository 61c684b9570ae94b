import { refuse } from '../../base/arguments.ts'
import { Signer } from '../signer.ts'

/** Without a colon: with one, the signed text could be that of another channel. */
const SOCKET_ID = /^\d+\.\d+$/

/** Signatures that let one socket subscribe to one private or presence channel. */
export class Signing {
  readonly #key: string
  readonly #signer: Signer

  constructor(key: string, secret: string) {
    this.#key = key
    this.#signer = new Signer(secret)
  }

  async sign(socketId: string, channel: string, channelData: string | undefined): Promise<string> {
    if (typeof socketId !== 'string' || !SOCKET_ID.test(socketId))
      refuse('socketId', 'two numbers with a point between', socketId)
    if (typeof channel !== 'string' || !isSigned(channel))
      refuse('channel', 'a private- or presence- channel', channel)
    if (isPresence(channel) && typeof channelData !== 'string')
      refuse('channelData', 'the data of a member', channelData)
    return `${this.#key}:${await this.#signer.sign(signedText(socketId, channel, channelData))}`
  }

  async verify(auth: unknown, socketId: string, channel: string, channelData: string): Promise<boolean> {
    if (typeof auth !== 'string' || !auth.startsWith(`${this.#key}:`)) return false
    const signature = auth.slice(this.#key.length + 1)
    return this.#signer.verify(signedText(socketId, channel, channelData), signature)
  }
}

export function isPresence(channel: string): boolean {
  return channel.startsWith('presence-')
}

/** Whether a subscription needs a signature. */
export function isSigned(channel: string): boolean {
  return channel.startsWith('private-') || isPresence(channel)
}

function signedText(socketId: string, channel: string, channelData: string | undefined): string {
  return isPresence(channel) ? `${socketId}:${channel}:${channelData}` : `${socketId}:${channel}`
}
