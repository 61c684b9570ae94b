/**
 * Who sent a request, and to which name. Each proxy adds the address that it got the request from to the end of a
 * list. So the last entries were written by the trusted proxies, and a client can have invented all others.
 */

import { isInNetwork, parseIp, parseNetwork } from '../../base/ip-address.ts'
import type { Settings } from '../../configuration/settings.ts'
import { MAX_PREFIX_LENGTH } from '../options.ts'
import type { HeaderOf } from './request-headers.ts'

export interface Sender {
  /** Empty: not known. */
  readonly address: string
  /** The name that the client called, perhaps with a port. Empty: the request does not say. */
  readonly host: string
  /** Whether the client called over HTTPS; `undefined`: no trusted proxy says so. */
  readonly isSecure: boolean | undefined
  /** The path below which the client sees the service, such as `/locks`; empty: at the root. */
  readonly prefix: string
}

export type SenderOf = (header: HeaderOf, connection: string | undefined) => Sender

/** What the proxies have written. The entry of the proxy nearest to the server is the last one. */
interface Forwarded {
  readonly addresses: readonly string[]
  readonly hosts: readonly string[]
  readonly protocols: readonly string[]
}

const PREFIX = /^(\/(?!\.\.?(\/|$))[\w.~-]+)+$/

const HOST = /^[\w.-]+(:\d+)?$|^\[[\da-f:.]+\](:\d+)?$/i
/** An address that a proxy hides, as RFC 7239 writes it. */
const HIDDEN = /^_[\w.-]{1,60}$/

export function trustedProxies({
  trustProxy,
  proxyHeaders,
}: Pick<Settings, 'trustProxy' | 'proxyHeaders'>): SenderOf {
  const networks = Array.isArray(trustProxy) ? trustProxy.flatMap((each) => parseNetwork(each) ?? []) : []
  const isTrusted = (address: string) => {
    const bits = parseIp(address)
    return bits !== undefined && networks.some((network) => isInNetwork(bits, network))
  }
  const countTrusted = (nearestFirst: readonly string[]) => {
    const first = nearestFirst.findIndex((address) => !isTrusted(address))
    return first < 0 ? nearestFirst.length : first
  }

  return (header, connection = '') => {
    const direct = { address: connection, host: header('host') ?? '', isSecure: undefined, prefix: '' }
    const forwarded = trustProxy === false ? undefined : readForwarded(header, proxyHeaders)
    if (!forwarded) return direct
    const { addresses, hosts, protocols } = forwarded
    const proxies =
      typeof trustProxy === 'number' ? trustProxy : countTrusted([connection, ...addresses.toReversed()])
    if (proxies === 0) return direct
    const host = entryOf(hosts, proxies)
    const protocol = entryOf(protocols, proxies).toLowerCase()
    return {
      address: entryOf(addresses, proxies) || direct.address,
      host: HOST.test(host) ? host : direct.host,
      isSecure: protocol === '' ? undefined : protocol === 'https',
      prefix: prefixOf(entryOf(listOf(header('x-forwarded-prefix')), proxies)),
    }
  }
}

/** What the farthest of the `count` trusted proxies has written. A proxy may also replace the list by its own entry. */
function entryOf(list: readonly string[], proxies: number): string {
  return list.at(-Math.min(proxies, list.length)) ?? ''
}

/** Empty unless it can be the path of a cookie as it is. */
function prefixOf(text: string): string {
  const prefix = text.replace(/\/$/, '')
  return PREFIX.test(prefix) && prefix.length <= MAX_PREFIX_LENGTH ? prefix : ''
}

/** `undefined`: no proxy has written anything. */
function readForwarded(header: HeaderOf, kind: Settings['proxyHeaders']): Forwarded | undefined {
  const standard = header('forwarded')
  const isStandard =
    kind === 'forwarded' || (kind === 'auto' && standard !== undefined && !header('x-forwarded-for'))
  if (isStandard) return standard === undefined ? undefined : parseForwarded(standard)
  return {
    addresses: listOf(header('x-forwarded-for')).map(withoutPort),
    hosts: listOf(header('x-forwarded-host')),
    protocols: listOf(header('x-forwarded-proto')),
  }
}

function listOf(value: string | undefined): string[] {
  return value === undefined ? [] : value.split(',').map((entry) => entry.trim())
}

const PAIR = /\s*([\w-]+)\s*=\s*(?:"((?:[^"\\]|\\.)*)"|([^\s",;]*))\s*(;|,|$)/gy

/** RFC 7239: `for=1.2.3.4;proto=https, for="[2001:db8::1]:4711"`. `undefined`: malformed. */
function parseForwarded(text: string): Forwarded | undefined {
  const elements: Record<string, string>[] = [{}]
  let read = 0
  for (const [pair, name = '', quoted, plain = '', end] of text.matchAll(PAIR)) {
    const element = elements.at(-1) ?? {}
    element[name.toLowerCase()] = quoted?.replace(/\\(.)/g, '$1') ?? plain
    if (end === ',') elements.push({})
    read += pair.length
  }
  if (read < text.length) return undefined
  const all = (name: string) => elements.map((element) => element[name] ?? '')
  return { addresses: all('for').map(withoutPort), hosts: all('host'), protocols: all('proto') }
}

/** The address alone; empty if there is none. */
function withoutPort(text: string): string {
  const [, bracketed, v4] = /^(?:\[([^\]]*)\]|([\d.]+))(?::\w+)?$/.exec(text) ?? []
  const address = bracketed ?? v4 ?? text
  return parseIp(address) === undefined && !HIDDEN.test(address) ? '' : address
}
