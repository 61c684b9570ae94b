/**
 * Addresses in messages, without their secrets. Nothing here parses a URL: the usual reason for an address that cannot
 * be parsed is a password with a raw `#`, `/` or `?`, and then no part of it is where a parser expects it.
 */
import { show } from './arguments.ts'

/** Parameters whose values are no secrets. The first other one hides the rest, which may belong to its value. */
const SHOWN_PARAMETER = /^(table|schema|prefix|bucket|replicas|sslmode|db)=[\w.:-]*$/
const SHOWN_USER = /^[\w.%+~-]*$/
/** One host or several, then a path. */
const PLACE = /^((?:\[[\da-f:.]*\]|[\w.%~-]*)(?::\d+(?=[,/?#]|$))?,?)*(\/[\w./%+~-]*)?/i
const LOCAL = /^(sqlite|file):(?!\/\/[^/.])/
/** Without a password, the user of these is a user. Of others it is a token, or a password in the wrong place. */
const NAMED_USERS = /^(postgres|postgresql|mysql):/
/** An address in the wrong place: a secret may be after any of these. */
const MISPLACED = /:(.*@|\/\/.*([?#]|:\D)).*/s
/**
 * In a sentence, only words with one of these are looked at: most links have no secrets. `…@` was redacted before, and
 * `PASSWORD@` is a placeholder in our own advice.
 */
const SUSPECT = /(?<!…|PASSWORD|TOKEN)@|[?&;#][\w.-]*(pass|pwd|secret|token|key|auth)[\w.-]*=/i

/**
 * The address of a store without passwords, tokens and unknown parameters. It ends with `…` where it is not sure what a
 * secret is.
 *
 * @example
 * redactAddress('postgres://app:se#cret@db/app') // 'postgres://app:…'
 */
export function redactAddress(address: string): string {
  const [, scheme = '', rest = ''] = /^([a-z][a-z\d+.-]*:)?(.*)$/is.exec(address) ?? []
  if (scheme === '') return /[:@?#]/.test(rest) ? '…' : rest
  if (LOCAL.test(address)) {
    const [path = '', ...query] = rest.split('?')
    return scheme + path + shownQuery(query)
  }
  if (!rest.startsWith('//')) return scheme + (rest && '…')
  const end = rest.lastIndexOf('@')
  const place = rest.slice(end < 0 ? 2 : end + 1)
  const [user = '', ...password] = end < 0 ? [] : rest.slice(2, end).split(':')
  const userShown = SHOWN_USER.test(user) ? user : '…'
  // The sign may be in the path or in a parameter, and what is after it in a secret.
  if (/[/?#\s]/.test(rest.slice(2, Math.max(2, end))))
    return `${scheme}//${password.length > 0 && SHOWN_USER.test(user) ? `${user}:` : ''}…`
  const credentials =
    end < 0 ? '' : password.length > 0 ? `${userShown}:…@` : `${NAMED_USERS.test(scheme) ? userShown : '…'}@`
  const [found = ''] = PLACE.exec(place) ?? []
  const [between = '', ...query] = place.slice(found.length).split('?')
  return `${scheme}//${credentials}${found}${between === '' ? shownQuery(query) : '…'}`
}

/** A sentence of others, without the secrets of the addresses in it. */
export function redactText(text: string): string {
  return text.replace(/[a-z][a-z\d+.-]*:\/\/\S+/gi, (word) =>
    SUSPECT.test(word) ? redactAddress(word) : word,
  )
}

/** A value for a message, as `show` writes it. Of an address in the wrong place only the scheme is shown. */
export function showRedacted(value: unknown): string {
  return show(typeof value === 'string' ? value.replace(MISPLACED, ':…') : value)
}

/** `parts`: what is after each question mark. */
function shownQuery(parts: readonly string[]): string {
  if (parts.length === 0) return ''
  const pairs = parts.join('?').split('&')
  const hidden = pairs.findIndex((pair) => !SHOWN_PARAMETER.test(pair))
  return `?${(hidden < 0 ? pairs : [...pairs.slice(0, hidden), '…']).join('&')}`
}
