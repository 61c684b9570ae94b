/** A network, such as `10.0.0.0/8`. An address alone is a network of one. */
export interface IpNetwork {
  readonly bits: bigint
  readonly prefix: number
}

const ADDRESS_BITS = 128
const V4_BITS = 32
/** IPv4 addresses are compared as IPv6 addresses of this form, `::ffff:a.b.c.d`. */
const V4_MAPPED = 0xffffn << BigInt(V4_BITS)
/** One customer usually gets all IPv6 addresses that begin with the same 64 bits. */
const CUSTOMER_BITS = 64

/** The 128 bits of an address; `undefined` if the text is not one. */
export function parseIp(text: string): bigint | undefined {
  const v4 = parseV4(text)
  return v4 === undefined ? parseV6(text) : V4_MAPPED | v4
}

/** `undefined` if the text is neither an address nor a network. */
export function parseNetwork(text: string): IpNetwork | undefined {
  const [address = '', length, ...rest] = text.split('/')
  const bits = parseIp(address)
  if (bits === undefined || rest.length > 0) return undefined
  if (length === undefined) return { bits, prefix: ADDRESS_BITS }
  if (!/^\d{1,3}$/.test(length)) return undefined
  const prefix = Number(length) + (address.includes(':') ? 0 : ADDRESS_BITS - V4_BITS)
  return prefix <= ADDRESS_BITS ? { bits, prefix } : undefined
}

export function isInNetwork(bits: bigint, network: IpNetwork): boolean {
  const rest = BigInt(ADDRESS_BITS - network.prefix)
  return bits >> rest === network.bits >> rest
}

/** What a limit counts: an IPv4 address as it is, and an IPv6 address by its network, because a caller has many. */
export function limitKeyOf(address: string): string {
  if (!address.includes(':')) return address
  const bits = parseV6(address)
  if (bits === undefined) return address
  if (bits >> BigInt(V4_BITS) === 0xffffn) return v4Text(bits)
  return `${(bits >> BigInt(CUSTOMER_BITS)).toString(16)}/${CUSTOMER_BITS}`
}

function v4Text(bits: bigint): string {
  return [24n, 16n, 8n, 0n].map((shift) => (bits >> shift) & 0xffn).join('.')
}

function parseV4(text: string): bigint | undefined {
  if (!/^(0|[1-9]\d{0,2})(\.(0|[1-9]\d{0,2})){3}$/.test(text)) return undefined
  const bytes = text.split('.').map(Number)
  if (bytes.some((byte) => byte > 255)) return undefined
  return bytes.reduce((bits, byte) => (bits << 8n) | BigInt(byte), 0n)
}

function parseV6(text: string): bigint | undefined {
  const [address = ''] = text.split('%', 1)
  const halves = address.split('::')
  if (halves.length > 2 || !address.includes(':')) return undefined
  const [head, tail] = halves.map((half, n) => groupsOf(half, n === halves.length - 1))
  if (!head || (halves.length === 2 && !tail)) return undefined
  const missing = 8 - head.length - (tail?.length ?? 0)
  if (tail ? missing < 1 : missing !== 0) return undefined
  const groups = tail ? [...head, ...Array<bigint>(missing).fill(0n), ...tail] : head
  return groups.reduce((bits, group) => (bits << 16n) | group, 0n)
}

/** The last group of an address may be an IPv4 address, which counts as two. */
function groupsOf(text: string, isEnd: boolean): bigint[] | undefined {
  if (text === '') return []
  const groups: bigint[] = []
  const parts = text.split(':')
  for (const [n, part] of parts.entries()) {
    const v4 = isEnd && n === parts.length - 1 ? parseV4(part) : undefined
    if (v4 !== undefined) groups.push(v4 >> 16n, v4 & 0xffffn)
    else if (/^[\da-f]{1,4}$/i.test(part)) groups.push(BigInt(`0x${part}`))
    else return undefined
  }
  return groups
}
