import { type Duration, millisOf, unitQuestion } from '../base/duration.ts'
import { parseNetwork } from '../base/ip-address.ts'
import { showRedacted } from '../base/redact.ts'
import { MAX_PROXIES, MIN_SECRET_LENGTH } from './options.ts'

/** What a setting may be, whether it comes as text from the environment or as a value from a file. */
export interface Setting<T, Given = T> {
  /** What code may write. Only the compiler sees it. */
  readonly given?: Given
  readonly default: T
  /** One line for `holdfast serve --help`. */
  readonly help: string
  /** The default in the help; empty if there is none. */
  readonly usual: string
  /** The value in the help, such as `<duration>`. */
  readonly placeholder: string
  /** The expected value in words, for an error. */
  readonly expected: string
  /** `undefined` if the value is not valid. */
  parse(value: unknown): T | undefined
  /** The received value, for an error. */
  show(value: unknown): string
}

const MAKE_SECRET = '`openssl rand -hex 16` makes one'

export function duration(usual: string, min: string, max: string, help: string): Setting<number, Duration> {
  const [from, to] = [millisOf(min), millisOf(max)]
  return {
    default: millisOf(usual),
    help,
    usual,
    placeholder: '<duration>',
    expected: `a duration such as 500ms, 30s, 5m or a number of milliseconds, from ${min} to ${max}`,
    parse: (value) => within(millisOf(value), from, to),
    show: (value) => unitQuestion(value) ?? showRedacted(value),
  }
}

export function whole(
  byDefault: number,
  from: number,
  to: number,
  help: string,
): Setting<number, number | `${number}`> {
  return {
    default: byDefault,
    help,
    usual: String(byDefault),
    placeholder: '<number>',
    expected: `a whole number from ${from} to ${to}`,
    parse: (value) => within(parseWhole(value), from, to),
    show: showRedacted,
  }
}

export function bytes(
  byDefault: number,
  from: number,
  to: number,
  help: string,
): Setting<number, number | `${number}`> {
  return { ...whole(byDefault, from, to, help), expected: `a number of bytes from ${from} to ${to}` }
}

export function text(byDefault: string, help: string): Setting<string> {
  return {
    default: byDefault,
    help,
    usual: byDefault,
    placeholder: '<text>',
    expected: 'a non-empty text',
    parse: (value) => (typeof value === 'string' && value !== '' ? value : undefined),
    show: showRedacted,
  }
}

/** The address of a store. An error does not show it, because it may contain a password. */
export function address(byDefault: string, help: string): Setting<string> {
  return { ...text(byDefault, help), placeholder: '<url>', show: hide }
}

/** Of a page or an endpoint. Empty: none. */
export function webAddress(help: string): Setting<string> {
  return {
    ...text('', help),
    placeholder: '<url>',
    expected: 'an address that begins with http:// or https://',
    parse: (value) =>
      value === '' || (typeof value === 'string' && /^https?:/.test(value) && URL.canParse(value))
        ? value
        : undefined,
    show: hide,
  }
}

/** Empty: none. */
export function path(help: string): Setting<string> {
  return {
    default: '',
    help,
    usual: '',
    placeholder: '<file>',
    expected: 'the path of a file',
    parse: (value) => (typeof value === 'string' ? value : undefined),
    show: showRedacted,
  }
}

export function flag(byDefault: boolean, help: string): Setting<boolean, boolean | 'true' | 'false'> {
  return {
    default: byDefault,
    help,
    usual: String(byDefault),
    placeholder: '<true|false>',
    expected: 'true or false',
    parse: (value) => FLAGS.get(value),
    show: showRedacted,
  }
}

const FLAGS = new Map<unknown, boolean>([
  ...[true, 'true', 1, '1'].map((value) => [value, true] as const),
  ...[false, 'false', 0, '0'].map((value) => [value, false] as const),
])

export function choice<T extends string>(byDefault: T, choices: readonly T[], help: string): Setting<T> {
  return {
    default: byDefault,
    help,
    usual: byDefault,
    placeholder: `<${choices.join('|')}>`,
    expected: `one of ${choices.join(', ')}`,
    parse: (value) => choices.find((one) => one === value),
    show: showRedacted,
  }
}

export function list(help: string): Setting<readonly string[], readonly string[] | string> {
  return {
    default: [],
    help,
    usual: '',
    placeholder: '<a,b>',
    expected: 'a list of texts, or one text with commas',
    parse: parseList,
    show: showRedacted,
  }
}

/** Origins of pages, as a browser writes them: in lower case, without a default port and without a slash at the end. */
export function origins(help: string): Setting<readonly string[], readonly string[] | string> {
  return {
    ...list(help),
    expected: 'a list of origins such as https://app.example.com, or one text with commas',
    parse(value) {
      const found = parseList(value)?.map(parseOrigin)
      return found?.every((origin) => origin !== undefined) ? found : undefined
    },
    show(value) {
      const wrong = parseList(value)?.find((origin) => parseOrigin(origin) === undefined)
      return wrong === undefined ? showRedacted(value) : `${showRedacted(wrong)}; ${originRemedy(wrong)}`
    },
  }
}

/** `undefined` if the text is not an origin. Pages of extensions and apps have schemes of their own. */
function parseOrigin(text: string): string | undefined {
  const url = /^[a-z][a-z\d+.-]*:\/\//i.test(text) ? URL.parse(text) : null
  if (!url?.host || url.host.includes('*')) return undefined
  const origin = `${url.protocol}//${url.host}`
  return url.href.replace(/\/$/, '') === origin ? origin : undefined
}

function originRemedy(text: string): string {
  if (text.includes('*')) return 'write each origin by itself'
  const scheme = /^(localhost|127\.|\[::1\])/i.test(text) ? 'http' : 'https'
  const { protocol, host } = URL.parse(text.includes('://') ? text : `${scheme}://${text}`) ?? {}
  return host ? `write ${protocol}//${host}` : 'write its scheme and its name'
}

/** Which proxies are trusted: `false`, how many are in front of the server, or their networks. */
export function proxies(
  help: string,
): Setting<false | number | readonly string[], boolean | number | readonly string[] | string> {
  return {
    default: false,
    help,
    usual: 'false',
    placeholder: '<number|networks>',
    expected: `false, the number of proxies (1 to ${MAX_PROXIES}), or their networks, such as 10.0.0.0/8`,
    parse(value) {
      const isTrusted = FLAGS.get(value)
      if (isTrusted !== undefined) return isTrusted ? 1 : false
      const count = parseWhole(value)
      if (count !== undefined) return within(count, 1, MAX_PROXIES)
      const networks = parseList(value)
      return networks?.length && networks.every((text) => parseNetwork(text)) ? networks : undefined
    },
    show: showRedacted,
  }
}

/** A list of secrets. An error never shows them. */
export function secrets(help: string): Setting<readonly string[], readonly string[] | string> {
  return {
    ...list(help),
    expected: `a list of texts of at least ${MIN_SECRET_LENGTH} characters each (${MAKE_SECRET}), or one text with commas`,
    parse: (value) => {
      const found = parseList(value)
      return found?.some(isShort) ? undefined : found
    },
    show: (value) => hide(parseList(value)?.find(isShort) ?? value),
  }
}

/** Empty: none is set, and one is generated at start. */
export function secret(help: string): Setting<string> {
  return {
    default: '',
    help,
    usual: '',
    placeholder: '<text>',
    expected: `a text of at least ${MIN_SECRET_LENGTH} characters (${MAKE_SECRET})`,
    parse: (value) => (typeof value === 'string' && (value === '' || !isShort(value)) ? value : undefined),
    show: hide,
  }
}

function isShort(secret: string): boolean {
  return secret.length < MIN_SECRET_LENGTH
}

function parseWhole(value: unknown): number | undefined {
  if (typeof value === 'number') return value
  return typeof value === 'string' && /^\d+$/.test(value) ? Number(value) : undefined
}

function within(value: number | undefined, from: number, to: number): number | undefined {
  return value !== undefined && Number.isInteger(value) && value >= from && value <= to ? value : undefined
}

function parseList(value: unknown): readonly string[] | undefined {
  const items = typeof value === 'string' ? value.split(',').map((item) => item.trim()) : value
  if (!Array.isArray(items)) return undefined
  return items.every((item) => typeof item === 'string' && item !== '') ? items : undefined
}

/** For an error about a secret. */
function hide(value: unknown): string {
  if (typeof value === 'string') return `a text of ${value.length} characters`
  return typeof value === 'number' || typeof value === 'bigint' ? `a ${typeof value}` : showRedacted(value)
}
