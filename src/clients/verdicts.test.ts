/** What an error of each backend means: `store-unavailable` may be retried, `store-failed` is final. */
import { JetStreamApiError, JetStreamStatusError, jserrors } from '@nats-io/jetstream/internal'
import { errors as natsErrors } from '@nats-io/transport-node'
import {
  ClientClosedError,
  EtcdAuthenticationFailedError,
  EtcdError,
  EtcdPermissionDeniedError,
  GRPCCancelledError,
  GRPCDeadlineExceededError,
  GRPCInternalError,
  GRPCInvalidArgumentError,
  GRPCResourceExhastedError,
  GRPCUnauthenticatedError,
  GRPCUnavailableError,
} from 'etcd3'
import { describe, expect, it } from 'vitest'
import { LeaseError } from '../base/errors.ts'
import { browserError } from './browser-errors.ts'
import { etcdError } from './etcd-errors.ts'
import { fileError } from './file-errors.ts'
import { firestoreError, isConflict } from './firestore-errors.ts'
import { mysqlError } from './mysql-errors.ts'
import { natsError } from './nats-errors.ts'
import { postgresError } from './postgres-errors.ts'
import { redisError } from './redis-errors.ts'
import { sqliteError } from './sqlite-errors.ts'

/** As `cockatiel`, which `etcd3` uses, names it. */
class BrokenCircuitError extends Error {}

const RETRY = 'store-unavailable'
const FINAL = 'store-failed'
const BACKENDS = {
  Postgres: postgresError,
  Redis: redisError,
  SQLite: (error: unknown) => sqliteError(error),
  MySQL: mysqlError,
  NATS: natsError,
  etcd: etcdError,
  Firestore: (error: unknown) => firestoreError(error),
  'file system': (error: unknown) => fileError(error),
  browser: (error: unknown) => browserError(error),
}
const { ClosedConnectionError, NoRespondersError, PermissionViolationError, RequestError } = natsErrors
const denied = new PermissionViolationError('denied', 'publish', '$KV.holdfast.lease.r')
const noResponders = new NoRespondersError('$JS.API.INFO')

const VERDICTS: readonly [keyof typeof BACKENDS, string, unknown, typeof RETRY | typeof FINAL][] = [
  ['Postgres', 'connection refused', coded('ECONNREFUSED'), RETRY],
  ['Postgres', 'refused on all addresses', new AggregateError([coded('ECONNREFUSED')]), RETRY],
  ['Postgres', 'unknown host', coded('ENOTFOUND'), RETRY],
  ['Postgres', 'reset', coded('ECONNRESET'), RETRY],
  ['Postgres', 'broken pipe', coded('EPIPE'), RETRY],
  ['Postgres', 'connection closed (pg)', new Error('Connection terminated unexpectedly'), RETRY],
  ['Postgres', 'connection closed (postgres)', coded('CONNECTION_CLOSED'), RETRY],
  ['Postgres', 'connection lost (server)', coded('08006'), RETRY],
  ['Postgres', 'ended pool', new Error('Cannot use a pool after calling end on the pool'), FINAL],
  ['Postgres', 'ended client', new Error('Client was closed and is not queryable'), FINAL],
  [
    'Postgres',
    'broken client',
    new Error('Client has encountered a connection error and is not queryable'),
    FINAL,
  ],
  ['Postgres', 'ended client (postgres)', coded('CONNECTION_ENDED'), FINAL],
  ['Postgres', 'connect timeout (pg)', new Error('timeout exceeded when trying to connect'), RETRY],
  ['Postgres', 'connect timeout (postgres)', coded('CONNECT_TIMEOUT'), RETRY],
  ['Postgres', 'query timeout (pg)', new Error('Query read timeout'), RETRY],
  ['Postgres', 'statement timeout', coded('57014'), RETRY],
  ['Postgres', 'pooler timeout', coded('08P01', 'query_wait_timeout'), RETRY],
  ['Postgres', 'lock timeout', coded('55P03'), RETRY],
  ['Postgres', 'deadlock', coded('40P01'), RETRY],
  ['Postgres', 'serialization failure', coded('40001'), RETRY],
  ['Postgres', 'busy: too many clients', coded('53300'), RETRY],
  ['Postgres', 'starting up', coded('57P03'), RETRY],
  ['Postgres', 'shut down', coded('57P01'), RETRY],
  ['Postgres', 'crashed', coded('57P02'), RETRY],
  ['Postgres', 'full disk', coded('53100'), RETRY],
  ['Postgres', 'I/O error', coded('58030'), RETRY],
  ['Postgres', 'read-only standby', coded('25006'), RETRY],
  ['Postgres', 'permission', coded('42501'), FINAL],
  ['Postgres', 'wrong password', coded('28P01'), FINAL],
  ['Postgres', 'unknown database', coded('3D000'), FINAL],
  ['Postgres', 'syntax', coded('42601'), FINAL],
  ['Postgres', 'missing function', coded('42883'), FINAL],
  ['Postgres', 'invalid text', coded('22021'), FINAL],
  ['Postgres', 'damaged data', coded('XX001'), FINAL],
  ['Postgres', 'wrong argument', coded('ERR_INVALID_ARG_TYPE'), FINAL],
  ['Postgres', 'bug', new TypeError('x is not a function'), FINAL],

  ['MySQL', 'connection refused', mysql(-111, 'ECONNREFUSED'), RETRY],
  ['MySQL', 'refused on all addresses', new AggregateError([coded('ECONNREFUSED')]), RETRY],
  ['MySQL', 'unknown host', coded('ENOTFOUND'), RETRY],
  ['MySQL', 'reset', mysql(-104, 'ECONNRESET'), RETRY],
  ['MySQL', 'connect timeout', coded('ETIMEDOUT'), RETRY],
  ['MySQL', 'connection closed', coded('PROTOCOL_CONNECTION_LOST'), RETRY],
  ['MySQL', 'query timeout', coded('PROTOCOL_SEQUENCE_TIMEOUT'), RETRY],
  ['MySQL', 'busy: too many waiters in the pool', new Error('Queue limit reached.'), RETRY],
  ['MySQL', 'busy: no connection in the pool', new Error('No connections available.'), RETRY],
  ['MySQL', 'ended pool', new Error('Pool is closed.'), FINAL],
  ['MySQL', 'ended connection', new Error("Can't add new command when connection is in closed state"), FINAL],
  ['MySQL', 'deadlock', mysql(1213, 'ER_LOCK_DEADLOCK'), RETRY],
  ['MySQL', 'lock timeout', mysql(1205, 'ER_LOCK_WAIT_TIMEOUT'), RETRY],
  ['MySQL', 'statement timeout (MariaDB)', mysql(1969), RETRY],
  ['MySQL', 'statement timeout (MySQL)', mysql(3024, 'ER_QUERY_TIMEOUT'), RETRY],
  ['MySQL', 'interrupted', mysql(1317, 'ER_QUERY_INTERRUPTED'), RETRY],
  ['MySQL', 'killed connection', mysql(1927), RETRY],
  ['MySQL', 'busy: too many clients', mysql(1040, 'ER_CON_COUNT_ERROR'), RETRY],
  ['MySQL', 'busy: too many clients of a user', mysql(1203, 'ER_TOO_MANY_USER_CONNECTIONS'), RETRY],
  ['MySQL', 'shut down', mysql(1053, 'ER_SERVER_SHUTDOWN'), RETRY],
  ['MySQL', 'full disk', mysql(1021, 'ER_DISK_FULL'), RETRY],
  ['MySQL', 'full table', mysql(1114, 'ER_RECORD_FILE_FULL'), RETRY],
  ['MySQL', 'read-only replica', mysql(1290, 'ER_OPTION_PREVENTS_STATEMENT'), RETRY],
  ['MySQL', 'read-only server', mysql(1836, 'ER_READ_ONLY_MODE'), RETRY],
  ['MySQL', 'no majority (Galera)', mysql(1047, 'ER_UNKNOWN_COM_ERROR'), RETRY],
  ['MySQL', 'permission', mysql(1142, 'ER_TABLEACCESS_DENIED_ERROR'), FINAL],
  ['MySQL', 'wrong password', mysql(1045, 'ER_ACCESS_DENIED_ERROR'), FINAL],
  ['MySQL', 'unknown database', mysql(1049, 'ER_BAD_DB_ERROR'), FINAL],
  ['MySQL', 'syntax', mysql(1064, 'ER_PARSE_ERROR'), FINAL],
  ['MySQL', 'missing table', mysql(1146, 'ER_NO_SUCH_TABLE'), FINAL],
  ['MySQL', 'missing procedure', mysql(1305, 'ER_SP_DOES_NOT_EXIST'), FINAL],
  ['MySQL', 'open transaction', mysql(1568, 'ER_CANT_CHANGE_TX_CHARACTERISTICS'), FINAL],
  ['MySQL', 'wrong argument', coded('ERR_INVALID_ARG_TYPE'), FINAL],
  ['MySQL', 'bug', new TypeError('x is not a function'), FINAL],

  ['Redis', 'connection refused', new Error('connect ECONNREFUSED 127.0.0.1:1'), RETRY],
  ['Redis', 'retries used up', new Error('Reached the max retries per request limit (which is 20).'), RETRY],
  ['Redis', 'reset', new Error('read ECONNRESET'), RETRY],
  ['Redis', 'connection closed', new Error('Socket closed unexpectedly'), RETRY],
  ['Redis', 'ended client (ioredis)', new Error('Connection is closed.'), FINAL],
  ['Redis', 'ended client (redis)', new Error('The client is closed'), FINAL],
  [
    'Redis',
    'node of a cluster gone',
    new Error('Too many Cluster redirections. Last error: Error: Connection is closed.'),
    RETRY,
  ],
  ['Redis', 'timeout', new Error('Command timed out'), RETRY],
  ['Redis', 'busy', new Error('BUSY Redis is busy running a script.'), RETRY],
  ['Redis', 'loading', new Error('LOADING Redis is loading the dataset in memory'), RETRY],
  ['Redis', 'too many clients', new Error('ERR max number of clients reached'), RETRY],
  ['Redis', 'cluster down', new Error('CLUSTERDOWN The cluster is down'), RETRY],
  ['Redis', 'slot moves', new Error('TRYAGAIN Multiple keys request during rehashing of slot'), RETRY],
  ['Redis', 'primary down', new Error('MASTERDOWN Link with MASTER is down'), RETRY],
  ['Redis', 'too few replicas', new Error('NOREPLICAS Not enough good replicas to write.'), RETRY],
  ['Redis', 'out of memory', new Error("OOM command not allowed when used memory > 'maxmemory'."), RETRY],
  ['Redis', 'full disk', new Error('MISCONF Redis is currently unable to persist to disk.'), RETRY],
  ['Redis', 'read-only', new Error("READONLY You can't write against a read only replica."), RETRY],
  [
    'Redis',
    'read-only, in a script of an old server',
    new Error('ERR Error running script (call to f_1): @user_script:10: -READONLY You cannot write.'),
    RETRY,
  ],
  ['Redis', 'permission', new Error('NOPERM this user has no permissions to run evalsha'), FINAL],
  ['Redis', 'no password', new Error('NOAUTH Authentication required.'), FINAL],
  ['Redis', 'wrong password', new Error('WRONGPASS invalid username-password pair'), FINAL],
  ['Redis', 'syntax', new Error('ERR unknown command'), FINAL],
  ['Redis', 'wrong type', new Error('WRONGTYPE Operation against a key of the wrong kind'), FINAL],
  ['Redis', 'plain client on a cluster', new Error('MOVED 1234 127.0.0.1:7000'), FINAL],
  ['Redis', 'bug', new TypeError('x is not a function'), FINAL],

  ['SQLite', 'busy', sqlite(5), RETRY],
  ['SQLite', 'busy snapshot', sqlite(517), RETRY],
  ['SQLite', 'locked', sqlite(6), RETRY],
  ['SQLite', 'open transaction', sqlite(1, 'cannot start a transaction within a transaction'), RETRY],
  ['SQLite', 'interrupted', sqlite(9), RETRY],
  ['SQLite', 'full disk', sqlite(13), RETRY],
  ['SQLite', 'I/O error', sqlite(10), RETRY],
  ['SQLite', 'I/O error on write', sqlite(778), RETRY],
  ['SQLite', 'read-only', sqlite(8), FINAL],
  ['SQLite', 'permission', sqlite(3), FINAL],
  ['SQLite', 'missing directory', sqlite(14), FINAL],
  ['SQLite', 'ended client', coded('ERR_INVALID_STATE', 'database is not open'), FINAL],
  ['SQLite', 'damaged file', sqlite(11), FINAL],
  ['SQLite', 'another kind of file', sqlite(26), FINAL],
  ['SQLite', 'syntax', sqlite(1), FINAL],

  ['NATS', 'connection lost', new natsErrors.ConnectionError('connection refused'), RETRY],
  ['NATS', 'unknown host', coded('ENOTFOUND'), RETRY],
  ['NATS', 'timeout', new natsErrors.TimeoutError(), RETRY],
  ['NATS', 'no responders', noResponders, RETRY],
  ['NATS', 'request without responders', new RequestError('none', { cause: noResponders }), RETRY],
  ['NATS', 'no JetStream', new jserrors.JetStreamNotEnabled('not enabled', { cause: noResponders }), RETRY],
  ['NATS', 'no leader', apiError(10008, 503), RETRY],
  ['NATS', 'no leader, for a direct read', new JetStreamStatusError('no responders', 503), RETRY],
  ['NATS', 'deleted bucket', jserrors.StreamNotFoundError.fromMessage('no stream'), RETRY],
  ['NATS', 'ended client', new ClosedConnectionError(), FINAL],
  ['NATS', 'ending client', new natsErrors.DrainingConnectionError(), FINAL],
  ['NATS', 'permission', denied, FINAL],
  ['NATS', 'request without permission', new RequestError('denied', { cause: denied }), FINAL],
  ['NATS', 'wrong password', new natsErrors.AuthorizationError('wrong'), FINAL],
  ['NATS', 'password too old', new natsErrors.UserAuthenticationExpiredError('expired'), FINAL],
  ['NATS', 'full stream', apiError(10054, 400), FINAL],

  ['etcd', 'connection refused or reset', new GRPCUnavailableError('14 UNAVAILABLE'), RETRY],
  ['etcd', 'connection refused, not translated', grpc(14), RETRY],
  ['etcd', 'timeout', new GRPCDeadlineExceededError('4 DEADLINE_EXCEEDED'), RETRY],
  ['etcd', 'cancelled', new GRPCCancelledError('1 CANCELLED'), RETRY],
  ['etcd', 'internal error', new GRPCInternalError('13 INTERNAL'), RETRY],
  ['etcd', 'busy', new GRPCResourceExhastedError('8 RESOURCE_EXHAUSTED'), RETRY],
  ['etcd', 'host left out', new BrokenCircuitError(), RETRY],
  ['etcd', 'no leader', new EtcdError('etcdserver: no leader'), RETRY],
  ['etcd', 'expired etcd lease', new EtcdError('etcdserver: requested lease not found'), RETRY],
  ['etcd', 'slow disk', new EtcdError('etcdserver: request timed out'), RETRY],
  ['etcd', 'new leader', new EtcdError('etcdserver: leader changed'), RETRY],
  [
    'etcd',
    'full',
    new GRPCResourceExhastedError('8 RESOURCE_EXHAUSTED: etcdserver: mvcc: database space exceeded'),
    FINAL,
  ],
  ['etcd', 'ended client', new ClientClosedError('KV'), FINAL],
  ['etcd', 'permission', new EtcdPermissionDeniedError('etcdserver: permission denied'), FINAL],
  ['etcd', 'no credentials', new GRPCUnauthenticatedError('16 UNAUTHENTICATED'), FINAL],
  ['etcd', 'wrong password', new EtcdAuthenticationFailedError('invalid user ID or password'), FINAL],
  ['etcd', 'syntax', new GRPCInvalidArgumentError('3 INVALID_ARGUMENT'), FINAL],
  ['etcd', 'bug', new TypeError('x is not a function'), FINAL],

  ['Firestore', 'connection refused or reset', grpc(14), RETRY],
  ['Firestore', 'timeout', grpc(4), RETRY],
  ['Firestore', 'cancelled', grpc(1), RETRY],
  ['Firestore', 'quota', grpc(8), RETRY],
  ['Firestore', 'busy: contention', grpc(10), RETRY],
  ['Firestore', 'internal error', grpc(13), RETRY],
  ['Firestore', 'ended client', new Error('The client has already been terminated'), FINAL],
  ['Firestore', 'permission', grpc(7), FINAL],
  ['Firestore', 'no credentials', grpc(16), FINAL],
  ['Firestore', 'syntax', grpc(3), FINAL],

  ['file system', 'full disk', coded('ENOSPC'), RETRY],
  ['file system', 'quota', coded('EDQUOT'), RETRY],
  ['file system', 'I/O error', coded('EIO'), RETRY],
  ['file system', 'too many open files (process)', coded('EMFILE'), RETRY],
  ['file system', 'too many open files (machine)', coded('ENFILE'), RETRY],
  ['file system', 'busy', coded('EBUSY'), RETRY],
  ['file system', 'try again', coded('EAGAIN'), RETRY],
  ['file system', 'interrupted', coded('EINTR'), RETRY],
  ['file system', 'timeout', coded('ETIMEDOUT'), RETRY],
  ['file system', 'out of memory', coded('ENOMEM'), RETRY],
  ['file system', 'stale handle', coded('ESTALE'), RETRY],
  ['file system', 'deleted between two steps', coded('ENOENT'), RETRY],
  ['file system', 'read-only', coded('EROFS'), FINAL],
  ['file system', 'permission', coded('EACCES'), FINAL],
  ['file system', 'hard links forbidden', coded('EPERM'), FINAL],
  ['file system', 'no hard links', coded('ENOTSUP'), FINAL],
  ['file system', 'no hard links (not implemented)', coded('ENOSYS'), FINAL],
  ['file system', 'a file in place of a directory', coded('ENOTDIR'), FINAL],
  ['file system', 'a file that exists', coded('EEXIST'), FINAL],
  ['file system', 'a directory in place of a file', coded('EISDIR'), FINAL],
  ['file system', 'two file systems', coded('EXDEV'), FINAL],
  ['file system', 'loop of links', coded('ELOOP'), FINAL],
  ['file system', 'name too long', coded('ENAMETOOLONG'), FINAL],
  ['file system', 'wrong argument', coded('ERR_INVALID_ARG_VALUE'), FINAL],
  ['file system', 'bug', new TypeError('x is not a function'), FINAL],

  ['browser', 'full storage', dom('QuotaExceededError'), RETRY],
  ['browser', 'closed database, or inactive page', dom('InvalidStateError'), RETRY],
  ['browser', 'deleted file', dom('NotFoundError'), RETRY],
  ['browser', 'file in use', dom('NotReadableError'), RETRY],
  ['browser', 'another writer', dom('NoModificationAllowedError'), RETRY],
  ['browser', 'aborted transaction', dom('AbortError'), RETRY],
  ['browser', 'timeout', dom('TimeoutError'), RETRY],
  ['browser', 'I/O error', dom('UnknownError'), RETRY],
  ['browser', 'ended transaction', dom('TransactionInactiveError'), RETRY],
  ['browser', 'permission', dom('NotAllowedError'), FINAL],
  ['browser', 'no origin', dom('SecurityError'), FINAL],
  ['browser', 'not supported', dom('NotSupportedError'), FINAL],
  ['browser', 'a directory in place of the file', dom('TypeMismatchError'), FINAL],
  ['browser', 'database of a newer version', dom('VersionError'), FINAL],
  ['browser', 'data that cannot be stored', dom('DataCloneError'), FINAL],
  ['browser', 'missing API, or bug', new TypeError('x is not a function'), FINAL],
]

describe('the verdict on an error', () => {
  it.each(VERDICTS)('%s: %s', (backend, _, error, code) => {
    const explained = BACKENDS[backend](error)
    expect(explained).toBeInstanceOf(LeaseError)
    expect(explained).toMatchObject({ code, retryable: code === RETRY, cause: error })
    expect(explained.message).toContain(backend)
  })

  describe.each(Object.entries(BACKENDS))('of %s', (_, explain) => {
    it('leaves a LeaseError as it is', () => {
      const error = new LeaseError('closed', 'closed')
      expect(explain(error)).toBe(error)
    })

    it.each([['oops'], [42], [null], [undefined], [10n], [Symbol('x')], [Object.create(null)]])(
      'is final for what is not an Error: %s',
      (error) => {
        expect(explain(error)).toMatchObject({ code: FINAL, cause: error })
      },
    )
  })
})

describe('the message', () => {
  it('the message says what the server said, and what to do', () => {
    const error = Object.assign(coded('42501', 'denied'), { hint: 'Ask Mika.' })
    expect(postgresError(error, 'r')).toMatchObject({ message: 'Postgres: denied; Ask Mika.', resource: 'r' })
    expect(redisError(new Error('MOVED 1 h:1')).message).toContain('use a cluster client')
    expect(sqliteError(sqlite(8), 'the database a.db').message).toMatch(
      /^the database a\.db: .*right to write/,
    )
    expect(fileError(coded('ENOSPC'), 'the lease directory', 'r')).toMatchObject({
      message: 'the lease directory: message of ENOSPC; the disk is full',
      resource: 'r',
    })
    expect(browserError(dom('QuotaExceededError'), 'r')).toMatchObject({
      message: 'the browser: message of QuotaExceededError; the storage of this site is full',
      resource: 'r',
    })
  })

  it('the message does not say how little time the last copy of a request to etcd had', () => {
    const error = new GRPCDeadlineExceededError('4 DEADLINE_EXCEEDED: Deadline exceeded after 0.000s')
    expect(etcdError(error, 'r')).toMatchObject({
      code: 'store-unavailable',
      message: 'etcd: no answer in time',
      resource: 'r',
      cause: error,
    })
  })

  it('the message is that of the first address if a host has several', () => {
    const errors = new AggregateError([coded('ECONNREFUSED', 'connect ECONNREFUSED ::1:5432')])
    expect(postgresError(errors).message).toBe('Postgres: connect ECONNREFUSED ::1:5432')
  })
})

it.each([5, 6, 9, 10])('a write of Firestore that fails with code %i was preceded by another', (code) => {
  expect(isConflict(grpc(code))).toBe(true)
  expect(isConflict(grpc(14))).toBe(false)
})

function coded(code: string, message = `message of ${code}`): Error {
  return Object.assign(new Error(message), { code })
}

function mysql(errno: number, code?: string): Error {
  return Object.assign(new Error(`message of ${errno}`), { errno, ...(code !== undefined && { code }) })
}

function sqlite(errcode: number, message = `message of ${errcode}`): Error {
  return Object.assign(new Error(message), { code: 'ERR_SQLITE_ERROR', errcode })
}

function dom(name: string): DOMException {
  return new DOMException(`message of ${name}`, name)
}

function grpc(code: number): Error {
  return Object.assign(new Error(`code ${code}`), { code })
}

function apiError(code: number, status: number): Error {
  return new JetStreamApiError({ err_code: code, code: status, description: `code ${code}` })
}
