/** The limits of sockets and channels, their defaults and checks. */

import { definedIn, expectObject, expectOptions, expectWhole } from '../../base/arguments.ts'
import { MAX_CHANNEL_LENGTH } from '../../protocol/index.ts'

export interface ChannelLimits {
  /** Open sockets of one client, by default one address. Default 1000. */
  readonly socketsPerClient: number
  /** Default 100. */
  readonly channelsPerSocket: number
  /** Characters of a channel's name with its prefix. Default 600. */
  readonly channelName: number
  /** Characters of the `channel_data` of a member. Default 2048. */
  readonly channelData: number
  /** Frames of one socket within a second. Default 250. */
  readonly framesPerSecond: number
  /** Client events of one socket within a second. Default 10. */
  readonly clientEventsPerSecond: number
}

type Given = { readonly [Name in keyof ChannelLimits]?: number | undefined }

const DEFAULTS: ChannelLimits = {
  socketsPerClient: 1000,
  channelsPerSocket: 100,
  channelName: MAX_CHANNEL_LENGTH,
  channelData: 2048,
  framesPerSecond: 250,
  clientEventsPerSecond: 10,
}

export function limitsOf(limits: Given = {}): ChannelLimits {
  expectObject('limits', limits as unknown)
  expectOptions(limits, DEFAULTS, 'limits.')
  const given = definedIn(limits)
  for (const [name, limit] of Object.entries(given)) expectWhole(`limits.${name}`, limit, 1)
  return { ...DEFAULTS, ...given }
}
