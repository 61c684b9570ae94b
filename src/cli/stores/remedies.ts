/** What an error of a store means and what a user can do about it, by what is found in the error and its causes. */

import { type LeaseError, messageOf } from '../../base/errors.ts'
import { MAX_CAUSES } from '../../base/options.ts'

/** What is known about an error. */
export interface Diagnosis {
  /** The cause in plain words, where that of the client says less. */
  readonly cause?: string
  /** What the user can do about it. */
  readonly remedy: string
}

interface Rule {
  /** Found in the message, the code or the name of the error, or of one of its causes. */
  readonly pattern: RegExp
  /** `scheme`: of the address, such as `redis`. */
  readonly cause?: (scheme: string) => string
  readonly remedy: (scheme: string) => string
}

/** The name of each server, and the port on which it usually listens. */
const SERVERS: Readonly<Record<string, readonly [name: string, port: number]>> = {
  redis: ['Redis', 6379],
  rediss: ['Redis with TLS', 6379],
  postgres: ['Postgres', 5432],
  mysql: ['MySQL', 3306],
  nats: ['NATS', 4222],
  etcd: ['etcd', 2379],
  etcds: ['etcd with TLS', 2379],
  http: ['Holdfast', 4321],
  https: ['Holdfast with TLS', 4321],
}

const TLS_SCHEMES: Readonly<Record<string, string>> = {
  rediss: 'redis',
  etcds: 'etcd',
  https: 'http',
}

/** The first one that fits counts. */
const RULES: readonly Rule[] = [
  {
    pattern: /\b(ENOTFOUND|EAI_AGAIN|EAI_NODATA)\b|Name resolution failed/,
    remedy: () => 'check the name of the host, and that this machine can look it up',
  },
  {
    pattern: /wrong version number|packet length too long/i,
    cause: () => 'the server does not speak TLS',
    remedy: (scheme) => `use ${TLS_SCHEMES[scheme] ?? scheme}://, or the port on which it speaks TLS`,
  },
  {
    pattern: /SSL routines|\bEPROTO\b|ERR_SSL|ERR_TLS|certificate|self.signed/i,
    remedy: () =>
      'check that its certificate is valid and trusted (NODE_EXTRA_CA_CERTS), and its versions of TLS',
  },
  {
    pattern: /Unknown database|\b(3D000|ER_BAD_DB_ERROR|ER_DBACCESS_DENIED_ERROR)\b|DB index is out of range/,
    remedy: () => 'check the name of the database in the address, create it, or let this user use it',
  },
  {
    pattern: /authentication is not enabled/i,
    remedy: () => 'leave out the user and the password, or enable authentication',
  },
  {
    pattern: /does not let you in|invalid auth token|Authorization Violation/i,
    remedy: (scheme) => `check the user and the password, as in ${scheme}://USER:PASSWORD@host`,
  },
  {
    pattern:
      /\bNOPERM\b|\b42501\b|permission denied|command denied|Permissions? Violation|PermissionDenied|The user executing the script can't/i,
    remedy: (scheme) => RIGHTS[scheme] ?? 'give this user the right to read and write',
  },
  {
    pattern: /JetStreamNotEnabled|jetstream (is )?not enabled/i,
    remedy: () => 'start the server with JetStream: nats-server -js',
  },
  {
    pattern: /\bbad port\b/,
    remedy: () => 'use another port: clients of HTTP refuse those that are known for something else',
  },
  {
    pattern:
      /RESP type|reply type byte|Protocol error|Malformed|Unexpected packet|PROTOCOL_(?!CONNECTION_LOST)|HPE_|does not match the HTTP|not a response of Holdfast|unexpected response from server/i,
    cause: (scheme) => `what answers there is not ${nameOf(scheme)}`,
    remedy: (scheme) => `${wrongServer(scheme)}, and not another program`,
  },
  {
    pattern: /\bECONNREFUSED\b|connection refused/i,
    remedy: () => 'check that it is running and that the address is correct, also its port',
  },
  {
    // With a user, the client of etcd does not say why.
    pattern: /No connection established\. Last error: null/,
    cause: () => 'No connection established',
    remedy: () => 'check that it is running and that the address is correct, also its port',
  },
  {
    pattern:
      /\b(ETIMEDOUT|EHOSTUNREACH|ENETUNREACH|CONNECT_TIMEOUT)\b|no answer|timeout|timed out|Deadline exceeded/i,
    remedy: (scheme) => `${wrongServer(scheme)}, and that no firewall is in between`,
  },
  {
    pattern:
      /\b(ECONNRESET|EPIPE)\b|closed|terminated|hang up|disconnected|CONNECTION_LOST|undefined error|No connection established/i,
    cause: () => 'the server closed the connection',
    remedy: (scheme) => `${wrongServer(scheme)}${TLS_SCHEMES[scheme] ? '' : ', and whether it requires TLS'}`,
  },
]

/** The rights that a store needs, where a server names each. */
const RIGHTS: Readonly<Record<string, string>> = {
  redis: 'give this user its keys, channels and commands: ACL SETUSER <user> ~* &* +@all -@dangerous +info',
  postgres: 'run holdfast migrate --grant <this user> with the role that owns the tables',
  mysql: 'let this user create, read and write tables and procedures: GRANT ALL ON <database>.* TO <user>',
  etcd: 'give this user a role that may read and write the keys: etcdctl role grant-permission <role> --prefix=true readwrite holdfast/',
  nats: 'let this user publish and subscribe to $JS.API.>, $KV.> and _INBOX.>',
}

/** `undefined`: nothing is known about it. `shown`: the address, or what is left of it. */
export function diagnose(error: unknown, shown: string): Diagnosis | undefined {
  const scheme = (/^([a-z]+)(\+[a-z]+)?:/.exec(shown)?.[1] ?? '').replace('postgresql', 'postgres')
  const said = saidIn(error)
  const rule = SERVERS[scheme] && RULES.find(({ pattern }) => pattern.test(said))
  if (!rule) return undefined
  return { remedy: rule.remedy(scheme), ...(rule.cause && { cause: rule.cause(scheme) }) }
}

export function remedyFor(error: unknown, shown: string): string | undefined {
  return diagnose(error, shown)?.remedy
}

function nameOf(scheme: string): string {
  return SERVERS[scheme]?.[0].replace(' with TLS', '') ?? ''
}

function wrongServer(scheme: string): string {
  const [name, port] = SERVERS[scheme] ?? ['the server', 0]
  return `check that ${name} listens there (usually on port ${port})`
}

/** The messages and codes of an error and its causes. */
function saidIn(error: unknown): string {
  const said: string[] = []
  let next = error
  for (let depth = 0; next && depth < MAX_CAUSES; depth++) {
    const { code, name, cause } = Object(next) as Partial<LeaseError> & { readonly code?: unknown }
    said.push(messageOf(next), String(code ?? ''), String(name ?? ''))
    next = cause
  }
  return said.join('\n')
}
