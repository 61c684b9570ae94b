/** The options of channels: the limits of sockets and channels, their defaults and checks. */

import { definedIn, expectObject, expectOptions, expectWhole } from '../../base/arguments.ts'
import type { Clock } from '../../base/clock.ts'
import type { Duration } from '../../base/duration.ts'
import { MAX_CHANNEL_LENGTH } from '../../protocol/index.ts'
import type { Bus } from '../bus.ts'
import type { EventNaming } from './index.ts'

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

export interface ChannelsOptions {
  /** The application in the address of the socket, `/app/{key}`. Letters, digits, `-` and `_`. */
  readonly key: string
  /** Signs subscriptions to private and presence channels. The same on all nodes. */
  readonly secret: string
  readonly bus: Bus
  readonly clock?: Clock | undefined
  /** How events are named: `document.locked`, or `App\Events\DocumentLocked`. Default `plain`. */
  readonly naming?: EventNaming | undefined
  /** Whether a socket may subscribe without a signature. Default true. */
  readonly publicChannels?: boolean | undefined
  /**
   * Whether the sender of this request may subscribe to a public channel. Asked once for each subscription. Without a
   * request nobody may. Default: everyone may.
   */
  readonly allows?: ((channel: string, request: Request) => boolean | Promise<boolean>) | undefined
  /** Whether sockets may send events to each other. Default false. */
  readonly clientEvents?: boolean | undefined
  /** The silence after which a socket is pinged. Default `30s`. */
  readonly activityTimeout?: Duration | undefined
  /** Origins whose pages may connect besides the server's own. Default none. */
  readonly origins?: readonly string[] | undefined
  /** Names in the `Host` header that sockets may connect to. Default: every name. */
  readonly hosts?: readonly string[] | undefined
  /** The address that the server listens on. On a loopback address, names of this machine are enough. */
  readonly listensOn?: string | undefined
  /** Proxies whose headers tell the address of a client: how many are in front, or their networks. Default: none. */
  readonly trustProxy?: boolean | number | string | readonly string[] | undefined
  /** What those proxies write. Default `auto`: `X-Forwarded-For` and the like, or `Forwarded` where that is missing. */
  readonly proxyHeaders?: 'auto' | 'x-forwarded' | 'forwarded' | undefined
  /** The address that is told when channels are occupied and vacated, and members come and go. Default: none. */
  readonly webhook?: string | undefined
  /** Called when a webhook could not be delivered, or `allows` has failed. */
  readonly onError?: ((error: unknown) => void) | undefined
  readonly limits?: { readonly [Name in keyof ChannelLimits]?: number | undefined } | undefined
}
