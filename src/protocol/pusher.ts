/** The frames of Pusher protocol 7, for the server and for our own client. */

export const PUSHER_PROTOCOL = '7'

export interface PusherFrame {
  readonly event: string
  readonly channel?: string
  readonly data?: unknown
}

/**
 * Why the server closes a connection. A client gives up after 4001 to 4099 and from 4300 on, reconnects after a
 * second after 41xx, and at once after 42xx.
 */
export const PUSHER_CLOSE = {
  unknownKey: 4001,
  tooManySockets: 4004,
  badProtocol: 4006,
  otherProtocol: 4007,
  noProtocol: 4008,
  forbidden: 4009,
  comeBackLater: 4100,
  noPong: 4201,
  tooManyFrames: 4301,
} as const

/** The public name of a channel in any of its forms. */
export function publicNameOf(channel: string): string {
  return channel.replace(/^(private|presence)-/, '')
}

/** `null`: not a frame. Data that is JSON in a string, as servers send it, is parsed. */
export function parseFrame(text: string): PusherFrame | null {
  const { event, channel, data } = Object(parseJson(text))
  if (typeof event !== 'string') return null
  return {
    event,
    ...(typeof channel === 'string' && { channel }),
    data: typeof data === 'string' ? (parseJson(data) ?? data) : data,
  }
}

/** A frame as servers send it, with its data as JSON in a string. */
export function formatFrame(
  event: string,
  data: unknown,
  more: { channel?: string | undefined; user_id?: string | undefined } = {},
) {
  return JSON.stringify({ event, ...more, data: JSON.stringify(data ?? {}) })
}

/** `undefined`: not JSON. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
