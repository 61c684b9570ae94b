import { redactAddress } from '../../base/redact.ts'
import { usageFailure } from '../failure.ts'

/** What an address of each kind may contain. */
interface AddressRules {
  /** A correct one, for messages. */
  readonly example: string
  /** Our own parameters. `others`: further ones go to the client. */
  readonly parameters: readonly string[]
  readonly others?: true
  /** What is wrong with the path; `undefined`: nothing. */
  readonly wrongPath?: (path: string) => string | undefined
}

const noPath = (path: string) => (/^\/?$/.test(path) ? undefined : 'expected no path after the host')

const REDIS: AddressRules = {
  example: 'redis://localhost:6379',
  parameters: ['prefix'],
  others: true,
  wrongPath: (path) =>
    /^\/?\d*$/.test(path) ? undefined : 'expected the number of a database after the host, such as /0',
}
const CLUSTER: AddressRules = {
  example: 'redis+cluster://a:6379,b:6379,c:6379',
  parameters: ['prefix'],
  wrongPath: (path) =>
    /^\/?$/.test(path) ? undefined : 'expected no path after the hosts: a cluster has only one database',
}
const SENTINEL: AddressRules = {
  example: 'redis+sentinel://a:26379,b:26379,c:26379/mymaster',
  parameters: ['prefix', 'db', 'sentinelUser', 'sentinelPassword'],
  wrongPath: (path) =>
    /^\/[^/]+$/.test(path)
      ? undefined
      : 'expected the name of the primary after the hosts, such as /mymaster',
}
const POSTGRES: AddressRules = {
  example: 'postgres://app@localhost:5432/app',
  parameters: ['schema', 'table', 'listen'],
  others: true,
}
const ETCD: AddressRules = { example: 'etcd://a:2379,b:2379,c:2379', parameters: ['prefix'] }
const HTTP: AddressRules = { example: 'http://localhost:4321', parameters: ['key'] }

const RULES: Readonly<Record<string, AddressRules>> = {
  sqlite: { example: 'sqlite:./holdfast.db', parameters: ['table'] },
  file: { example: 'file:./locks', parameters: [] },
  redis: REDIS,
  rediss: REDIS,
  'redis+cluster': CLUSTER,
  'rediss+cluster': CLUSTER,
  'redis+sentinel': SENTINEL,
  'rediss+sentinel': SENTINEL,
  postgres: POSTGRES,
  postgresql: POSTGRES,
  mysql: {
    example: 'mysql://app@localhost:3306/app',
    parameters: ['table'],
    others: true,
    wrongPath: (path) =>
      /^\/?$/.test(path) ? 'expected the name of a database after the host, such as /app' : undefined,
  },
  nats: { example: 'nats://localhost:4222', parameters: ['bucket', 'replicas'], wrongPath: noPath },
  etcd: ETCD,
  etcds: ETCD,
  http: HTTP,
  https: HTTP,
}

const LOCAL = /^(sqlite|file):/
const ENCODE = 'in a user or password, write # as %23, / as %2F, ? as %3F, @ as %40 and % as %25'

/** Refuses an address that cannot be right, before anything is opened or started. No message shows a secret. */
export function checkAddress(address: string): void {
  const shown = redactAddress(address)
  const scheme = /^([a-z+]+):/.exec(address)?.[1] ?? ''
  const rules = Object.hasOwn(RULES, scheme) ? RULES[scheme] : undefined
  if (!rules) {
    const schemes = Object.keys(RULES).map((known) => `${known}:`)
    throw usageFailure(
      `${shown} is not the address of a store; expected one that begins with ${schemes.join(', ')}`,
    )
  }
  const { example, parameters, others, wrongPath } = rules
  const query = LOCAL.test(address) ? queryOf(address) : checkUrl(address, shown, example, wrongPath)
  const known = parameters.map((name) => `?${name}=`).join(' and ')
  const given = new URLSearchParams(query)
  const listen = given.get('listen')
  if (listen !== null) {
    if (!/^postgres(ql)?:/.test(listen))
      throw usageFailure(`${shown}: listen: expected an address that begins with postgres:`)
    checkAddress(listen)
  }
  const db = given.get('db')
  if (parameters.includes('db') && db !== null && !/^\d{1,5}$/.test(db))
    throw usageFailure(`${shown}: db: expected the number of a database, such as 0`)
  for (const name of given.keys())
    if (!others && !parameters.includes(name))
      throw usageFailure(
        `${shown}: a parameter is unknown; ${scheme}: takes ${known || 'no parameters'}, as in ${example}`,
      )
}

/** Returns its parameters. */
function checkUrl(
  address: string,
  shown: string,
  example: string,
  wrongPath: AddressRules['wrongPath'],
): string {
  const [, authority = '', path = '', query = ''] =
    /^[a-z+]+:\/\/([^/?#]*)([^?#]*)(?:\?([^#]*))?/.exec(address) ?? []
  // A parser would take what is before the sign for a host, and the rest of the password for something else.
  const isCutOff = address.includes('#') || path.includes('@') || /^[^=]*@/.test(query)
  if (isCutOff || !isReadable(authority) || !hostsOf(address).every((one) => URL.canParse(one)))
    throw usageFailure(
      `${shown} is not a valid URL; expected one such as ${example}${address.includes('@') ? `, and ${ENCODE}` : ''}`,
    )
  const problem = wrongPath?.(path)
  if (problem) throw usageFailure(`${shown}: ${problem}`)
  return query
}

/** `URL` knows only one host, etcd and several servers of Redis have several: an address for each. */
function hostsOf(address: string): string[] {
  const [, scheme = '', user = '', hosts = '', rest = ''] =
    /^(etcds?|rediss?\+[a-z]+):\/\/([^/?#]*@)?([^/?#]*)(.*)$/s.exec(address) ?? []
  if (scheme === '') return [/^[a-z]+:\/\//.test(address) ? address : '']
  // `URL` checks the host and the port only of schemes that it knows.
  return hosts.split(',').map((host) => (host === '' ? '' : `http://${user}${host}${rest}`))
}

/** False: a `%` is not followed by two digits. */
function isReadable(authority: string): boolean {
  try {
    decodeURIComponent(authority)
    return true
  } catch {
    return false
  }
}

function queryOf(address: string): string {
  return address.split('?').slice(1).join('?')
}
