import { mkdirSync, writeFileSync } from 'node:fs'
import type { Socket } from 'node:net'
import { join } from 'node:path'
import { Redis } from 'ioredis'
import { createConnection } from 'mysql2/promise'
import pg from 'pg'
import { describe, expect, it, onTestFinished } from 'vitest'
import { checkStore } from '../../src/cli/commands/doctor.ts'
import type { Finding } from '../../src/cli/doctor-checks.ts'
import { closedPort } from '../closed-port.ts'
import { temporaryDirectory } from './holdfast.ts'
import { postgresRefusal, wrongServer, wrongWebServer } from './wrong-servers.ts'

const {
  HOLDFAST_TEST_REDIS_URL: redis = '',
  HOLDFAST_TEST_POSTGRES_URL: postgres = '',
  HOLDFAST_TEST_MYSQL_URL: mysql = '',
  HOLDFAST_TEST_NATS_URL: nats = '',
  HOLDFAST_TEST_ETCD_URL: etcd = '',
} = process.env

const NAMES: Readonly<Record<string, string>> = {
  redis: 'Redis',
  rediss: 'Redis with TLS',
  postgres: 'Postgres',
  mysql: 'MySQL',
  nats: 'NATS',
  etcd: 'etcd',
  etcds: 'etcd with TLS',
  http: 'Holdfast',
  https: 'Holdfast with TLS',
}
const SCHEMES = Object.keys(NAMES)
const WITH_TLS = ['rediss', 'etcds', 'https']

/** A cause and the next step, as `doctor` shows them. */
type Expected = readonly [cause: RegExp, step: RegExp]

interface Kind {
  /** What comes after the scheme. MySQL gets the name of a database after it. */
  readonly place: () => Promise<string>
  readonly expected: (scheme: string) => Expected
}

const listens = (scheme: string, more: string) =>
  new RegExp(`^check that ${NAMES[scheme]} listens there \\(usually on port \\d+\\)${more}`)
const NO_TLS: Expected = [/does not speak TLS/, /^use (redis|etcd|http):\/\/, or the port on which/]
const ENCODE: Expected = [/is not a valid URL$/, /^expected one such as .*write # as %23/]
const LATE = /no answer|TIMEDOUT|timeout|Deadline/

/** Wrong addresses and servers that every store can meet. */
const KINDS: Readonly<Record<string, Kind>> = {
  'a password with a raw #': {
    place: async () => 'app:se#cret@127.0.0.1',
    expected: () => ENCODE,
  },
  'an unknown host': {
    place: async () => 'no-such-host.invalid',
    expected: () => [/ENOTFOUND|EAI_AGAIN|Name resolution failed/, /^check the name of the host/],
  },
  'a port on which nobody listens': {
    place: async () => `127.0.0.1:${await closedPort()}`,
    expected: () => [/ECONNREFUSED|connection refused/, /^check that it is running and that the address is/],
  },
  'a server that is silent': {
    place: () => wrongServer(() => {}),
    expected: (scheme) => [LATE, listens(scheme, ', and that no firewall is in between')],
  },
  'a server that closes the connection': {
    place: () => wrongServer((socket) => socket.end()),
    expected: (scheme) => [
      /the server closed the connection/,
      listens(scheme, WITH_TLS.includes(scheme) ? '$' : ', and whether it requires TLS'),
    ],
  },
  'a web server': {
    place: () => wrongWebServer((_, response) => void response.writeHead(404).end('<html>nothing</html>')),
    expected(scheme) {
      if (WITH_TLS.includes(scheme)) return NO_TLS
      if (scheme === 'postgres') return [/the server closed/, listens(scheme, '')]
      if (scheme === 'mysql' || scheme === 'nats') return [LATE, listens(scheme, '')]
      return [/what answers there is not (Redis|etcd|Holdfast)$/, listens(scheme, ', and not another')]
    },
  },
  'another program': {
    place: () => wrongServer((socket) => socket.write('SSH-2.0-OpenSSH_9.2\r\n')),
    expected(scheme) {
      if (WITH_TLS.includes(scheme)) return NO_TLS
      if (scheme === 'mysql' || scheme === 'postgres') return [LATE, listens(scheme, '')]
      return [/what answers there is not (Redis|NATS|etcd|Holdfast)$/, listens(scheme, ', and not another')]
    },
  },
  'a server that requires TLS': {
    // An alert of TLS: what came was no handshake, or of an old version.
    place: () =>
      wrongServer((socket) => socket.on('data', () => socket.end(Buffer.from([0x15, 3, 3, 0, 2, 2, 0x46])))),
    expected(scheme) {
      if (WITH_TLS.includes(scheme)) return [/./, /^check that/]
      return [/./, listens(scheme, '')]
    },
  },
}

/** What only some servers have. */
const DENIED: Expected = [
  /does not let you in/,
  /^check the user and the password, as in \w+:\/\/USER:PASSWORD@/,
]
const NO_DATABASE: Expected = [/database|DB index/i, /^check the name of the database in the address/]
const OWN: readonly (readonly [string, () => Promise<string>, Expected])[] = [
  ['redis: a wrong password', async () => `redis://app:secret@${await wrongServer(denyRedis)}`, DENIED],
  [
    'postgres: a wrong password',
    async () =>
      `postgres://app:secret@${await wrongServer((s) => s.on('data', () => s.write(postgresRefusal('28P01', 'no'))))}`,
    DENIED,
  ],
  ['mysql: a wrong password', async () => mysql.replace(/\/\/[^@]*@/, '//nobody:secret@'), DENIED],
  [
    'nats: a wrong password',
    async () =>
      `nats://app:secret@${await wrongServer((s) => {
        s.write('INFO {"version":"2.10.0","proto":1,"max_payload":1048576,"auth_required":true}\r\n')
        s.on('data', () => s.write(`-ERR 'Authorization Violation'\r\n`))
      })}`,
    DENIED,
  ],
  [
    'etcd: a password that nobody asked for',
    async () => etcd.replace('://', '://app:secret@'),
    [/authentication is not enabled/, /^leave out the user and the password/],
  ],
  [
    'http: a wrong token',
    async () =>
      `http://${'secret@'}${await wrongWebServer((_, r) => void r.writeHead(401).end('{"error":"unauthenticated"}'))}`,
    [/does not know this token/, /^give one of its leaseTokens/],
  ],
  [
    'http: no token',
    async () =>
      `http://${await wrongWebServer((_, r) => void r.writeHead(403).end('{"error":"forbidden"}'))}`,
    [/requires a token/, /^give one of its leaseTokens/],
  ],
  ['redis: no such database', async () => `${redis.replace(/\/\d*$/, '')}/9999`, NO_DATABASE],
  [
    'redis: a database that is no number',
    async () => 'redis://host/abc',
    [/expected the number of a database/, /./],
  ],
  ['postgres: no such database', async () => postgres.replace(/\/[^/]*$/, '/nope'), NO_DATABASE],
  ['mysql: no such database', async () => mysql.replace(/\/[^/]*$/, '/nope'), NO_DATABASE],
  ['mysql: no database', async () => 'mysql://app@host', [/expected the name of a database/, /./]],
  ['nats: a path', async () => `${nats}/bucket`, [/expected no path after the host/, /./]],
  [
    'etcd: an unknown parameter',
    async () => `${etcd}?prefx=a`,
    [/a parameter is unknown/, /^etcd: takes \?prefix=/],
  ],
  [
    'http: an unknown parameter',
    async () => 'http://host?tokn=a',
    [/a parameter is unknown/, /^http: takes \?key=/],
  ],
  [
    'redis: a missing right',
    withRedisUser,
    [/NOPERM/, /^give this user its keys, channels and commands: ACL/],
  ],
  [
    'postgres: a missing right',
    withPostgresRole,
    [/this role may not create/, /^run holdfast migrate --grant/],
  ],
  [
    'mysql: a missing right',
    withMysqlUser,
    [/this user may not create it/, /^let this user create, read and write tables/],
  ],
  ['sqlite: no path', async () => 'sqlite:', [/has no path/, /^use an address such as sqlite:/]],
  [
    'sqlite: an unknown parameter',
    async () => 'sqlite:./x.db?tabel=a',
    [/unknown/, /^sqlite: takes \?table=/],
  ],
  [
    'sqlite: no directory',
    async () => 'sqlite:/none/x.db',
    [/directory \/none does not exist/, /^create it/],
  ],
  [
    'sqlite: a text',
    async () => `sqlite:${file('x.db')}`,
    [/not a database/, /^name another file, or restore/],
  ],
  [
    'sqlite: a directory',
    async () => `sqlite:${temporaryDirectory()}`,
    [/unable to open/, /^check that its directory/],
  ],
  [
    'file: a parameter',
    async () => 'file:./locks?table=a',
    [/a parameter is unknown/, /^file: takes no parameters/],
  ],
  [
    'file: a file in its place',
    async () => `file:${file('locks')}`,
    [/EEXIST|ENOTDIR|not a dir/, /^a file is where/],
  ],
  ['file: a file above it', async () => `file:${file('a')}/locks`, [/ENOTDIR|EEXIST/, /^a file is where/]],
]

describe('doctor names the cause and the next step', () => {
  // All at once, because a silent server takes five seconds.
  it('doctor names the cause and the next step for every kind of wrong address and server, on every store', async () => {
    const rows = await Promise.all(
      Object.entries(KINDS).flatMap(([kind, { place, expected }]) =>
        SCHEMES.map(async (scheme) => {
          const address = `${scheme}://${await place()}${scheme === 'mysql' ? '/app' : ''}`
          return { kind, address, found: await firstProblem(address), expected: expected(scheme) }
        }),
      ),
    )
    for (const { kind, address, found, expected } of rows)
      expectFinding(found, expected, `${kind}, ${address}`)
    expect(rows).toHaveLength(Object.keys(KINDS).length * SCHEMES.length)
  })

  it.each(OWN)('doctor names the cause and the next step for %s', async (_, addressOf, expected) => {
    const address = await addressOf()
    expectFinding(await firstProblem(address), expected, address)
  })
})

function expectFinding(found: Finding | undefined, [cause, step]: Expected, address: string): void {
  const shown = `${address}: ${found?.text} → ${found?.remedy}`
  expect(found?.state, shown).toBe('failure')
  expect(found?.text, shown).toMatch(cause)
  expect(found?.remedy, shown).toMatch(step)
  expect(`${found?.text}${found?.remedy}`, shown).not.toContain('secret')
}

/** The first finding that is a failure. */
async function firstProblem(address: string): Promise<Finding | undefined> {
  const findings: Finding[] = []
  await checkStore(address, (found) => void findings.push(...found))
  return findings.find(({ state }) => state === 'failure')
}

function file(name: string): string {
  const directory = temporaryDirectory()
  mkdirSync(directory, { recursive: true })
  writeFileSync(join(directory, name), 'this file is not a database'.repeat(100))
  return join(directory, name)
}

/** Clients of Redis send several commands at once, each of which begins with a star. */
function denyRedis(socket: Socket): void {
  socket.on('data', (sent) =>
    socket.write('-WRONGPASS invalid\r\n'.repeat(String(sent).match(/^\*/gm)?.length ?? 1)),
  )
}

/** A user that may connect, and nothing else. */
async function withRedisUser(): Promise<string> {
  const name = `table-${crypto.randomUUID()}`
  const admin = new Redis(redis)
  onTestFinished(async () => {
    await admin.call('ACL', 'DELUSER', name)
    admin.disconnect()
  })
  await admin.call('ACL', 'SETUSER', name, 'on', '>secret', '~*', '&*', '+@connection', '+info')
  return redis.replace('://', `://${name}:secret@`)
}

async function withPostgresRole(): Promise<string> {
  const name = `table_${process.pid}`
  const admin = new pg.Client(postgres)
  await admin.connect()
  await admin.query(`create schema ${name}_schema`)
  await admin.query(`create role ${name} login password 'secret'`)
  await admin.query(`grant usage on schema ${name}_schema to ${name}`)
  onTestFinished(async () => {
    await admin.query(`drop schema ${name}_schema cascade`)
    await admin.query(`drop role ${name}`)
    await admin.end()
  })
  return `${postgres.replace(/\/\/([^@/]*@)?/, `//${name}:secret@`)}?schema=${name}_schema`
}

async function withMysqlUser(): Promise<string> {
  const name = `table_${process.pid}`
  const admin = await createConnection(mysql)
  await admin.query(`create database ${name}`)
  await admin.query(`create user ${name} identified by 'secret'`)
  await admin.query(`grant select on ${name}.* to ${name}`)
  onTestFinished(async () => {
    await admin.query(`drop user ${name}`)
    await admin.query(`drop database ${name}`)
    await admin.end()
  })
  return mysql.replace(/\/\/([^@/]*@)?/, `//${name}:secret@`).replace(/\/[^/]*$/, `/${name}`)
}
