import { refuse } from '../../base/arguments.ts'
import { roomOfChannel } from '../../protocol/index.ts'
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

  /** The signature with which a socket signs in as a user. */
  async signUser(socketId: string, userData: string): Promise<string> {
    if (!SOCKET_ID.test(socketId)) refuse('socketId', 'two numbers with a point between', socketId)
    return `${this.#key}:${await this.#signer.sign(`${socketId}::user::${userData}`)}`
  }

  async verifyUser(auth: unknown, socketId: string, userData: string): Promise<boolean> {
    return this.#isSigned(auth, `${socketId}::user::${userData}`)
  }

  async verify(auth: unknown, socketId: string, channel: string, channelData: string): Promise<boolean> {
    return this.#isSigned(auth, signedText(socketId, channel, channelData))
  }

  async #isSigned(auth: unknown, text: string): Promise<boolean> {
    if (typeof auth !== 'string' || !auth.startsWith(`${this.#key}:`)) return false
    return this.#signer.verify(text, auth.slice(this.#key.length + 1))
  }
}

/** The channel of one user, for events that a backend sends to the user. */
const USER_CHANNEL = '#server-to-user-'

export function userChannel(user: string): string {
  return USER_CHANNEL + user
}

export function isUserChannel(channel: string): boolean {
  return channel.startsWith(USER_CHANNEL)
}

export function isPresence(channel: string): boolean {
  return channel.startsWith('presence-')
}

/** Whether a subscription needs a signature. */
export function isSigned(channel: string): boolean {
  return channel.startsWith('private-') || isPresence(channel)
}

export const NFC_EXPECTED = "expected the name of the room in NFC: use name.normalize('NFC')"

/** The name under which a channel has subscribers: rooms are known in NFC, all other channels as they are written. */
export function channelInUse(channel: string): string {
  return roomOfChannel(channel) === null ? channel : channel.normalize('NFC')
}

function signedText(socketId: string, channel: string, channelData: string | undefined): string {
  return isPresence(channel) ? `${socketId}:${channel}:${channelData}` : `${socketId}:${channel}`
}
