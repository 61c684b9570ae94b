import { AnswerLimit } from '../base/answer-limit.ts'
import { hasMethods, isObject, refuseClient } from '../base/arguments.ts'
import { systemClock } from '../base/clock.ts'
import { LeaseError } from '../base/errors.ts'
import { withoutBreaker } from './etcd-hosts.ts'
import { MAX_WRAPPERS, RENEWALS_AT_ONCE } from './options.ts'
import { together } from './together.ts'

/** The part of `Etcd3`, or of one of its namespaces, that Holdfast uses. */
export interface EtcdClient {
  readonly prefix: Uint8Array
  readonly kv: { txn(request: never, options?: never): Promise<unknown> }
  readonly leaseClient: {
    leaseGrant(request: never, options?: never): Promise<unknown>
    leaseRevoke(request: never, options?: never): Promise<unknown>
    leaseTimeToLive(request: never, options?: never): Promise<unknown>
    leaseKeepAlive(options?: never): Promise<unknown>
  }
  readonly watchClient: { watch(options?: never): Promise<unknown> }
}

/** A key with its value. Revisions are numbers of the whole cluster, and rise with every write. */
export interface EtcdEntry {
  readonly key: string
  readonly value: string
  readonly created: number
  readonly modified: number
  /** The etcd lease with which it ends; `'0'`: none. */
  readonly lease: string
}

export interface EtcdRange {
  readonly key: string
  /** The first key after the range. Absent: only `key`. */
  readonly end?: string
  readonly limit?: number
  readonly keysOnly?: boolean
  /** Oldest first. Default: by key. */
  readonly byCreation?: boolean
}

export type EtcdOperation =
  | { readonly get: EtcdRange }
  /** `lease`: the etcd lease with which the key ends. */
  | { readonly put: string; readonly value: string; readonly lease?: string }
  /** Writes the key as it is, if this revision created it, so that watchers hear of it. Its count is 1 if it was written. */
  | { readonly touch: string; readonly created: number }
  | { readonly remove: string }

/** Holds if the revision of every key of the range compares so. A key that does not exist has the revision 0. */
export interface EtcdCondition {
  readonly key: string
  readonly end?: string
  readonly compare: 'created' | 'modified'
  readonly is: 'equal' | 'greater' | 'less'
  readonly than: number
}

/** The result of one operation: what it found, or what it removed. */
export interface EtcdResult {
  readonly entries: readonly EtcdEntry[]
  /** How many there are in the range, whatever its `limit`. */
  readonly count: number
}

export interface EtcdAnswer {
  readonly succeeded: boolean
  readonly revision: number
  readonly results: readonly EtcdResult[]
}

/** `entry`: what was put, or only the key of what was removed; `previous`: what was there before. */
export interface EtcdEvent {
  readonly type: 'put' | 'delete'
  readonly entry: EtcdEntry
  readonly previous: EtcdEntry | null
}

export interface EtcdWatchHooks {
  /** From now on, or from `after`, every change is reported. */
  opened(revision: number): void
  /** All changes of one transaction arrive together. */
  changed(events: readonly EtcdEvent[], revision: number): void
  /** The history up to this revision is no longer there. The watch has ended. */
  compacted(revision: number): void
  /** It has ended for another reason. */
  broken(error?: unknown): void
}

export interface EtcdWatch {
  /** Has `answered` called, if the connection works. */
  probe(): void
  close(): void
}

/** Errors are those of the package: pass them to `etcdError`. */
export interface EtcdDatabase {
  /** Of the namespace. */
  readonly prefix: string
  readonly limit: AnswerLimit
  transact(
    conditions: readonly EtcdCondition[],
    operations: readonly EtcdOperation[],
    otherwise?: readonly EtcdOperation[],
  ): Promise<EtcdAnswer>
  /** `ttl`: in seconds. The server may grant a longer one. */
  grantLease(ttl: number): Promise<{ readonly lease: string; readonly ttl: number }>
  revokeLease(lease: string): Promise<void>
  /** The seconds that it has again; 0 if it has ended. */
  keepAlive(lease: string): Promise<number>
  /** The seconds that it has left, rounded down; -1 if it has ended. */
  secondsLeft(lease: string): Promise<number>
  /** `after`: a revision that was seen. Without it, the watch begins now. `answered`: the server has sent something. */
  watch(
    range: EtcdRange,
    after: number | undefined,
    hooks: EtcdWatchHooks & { answered(): void },
  ): Promise<EtcdWatch>
}

const encoder = new TextEncoder()
const decoder = new TextDecoder()

/** The end of the range of all keys that begin with `prefix`. */
export function endOfPrefix(prefix: string): string {
  const last = prefix.charCodeAt(prefix.length - 1)
  return prefix.slice(0, -1) + String.fromCharCode(last + 1)
}

export function etcdDatabase(client: EtcdClient): EtcdDatabase {
  if (!isEtcdClient(client)) refuseClient('client', 'an Etcd3 of etcd3, or one of its namespaces', client)
  const { prefix, ...services } = client as unknown as Rpc
  const { kv, leaseClient, watchClient } = withoutBreaker({
    kv: services.kv,
    leaseClient: services.leaseClient,
    watchClient: services.watchClient,
  })
  const limit = new AnswerLimit()
  const options = () => ({ deadline: systemClock.now() + limit.ms })
  return {
    prefix: new TextDecoder().decode(prefix),
    limit,
    async transact(conditions, operations, otherwise = []) {
      const request = {
        compare: conditions.map(compareOf),
        success: operations.map(requestOf),
        failure: otherwise.map(requestOf),
      }
      const { header, succeeded, responses } = await kv.txn(request, options())
      return { succeeded, revision: Number(header.revision), results: responses.map(resultOf) }
    },
    async grantLease(ttl) {
      const { ID, TTL } = await leaseClient.leaseGrant({ TTL: ttl }, options())
      return { lease: ID, ttl: Number(TTL) }
    },
    async revokeLease(lease) {
      await leaseClient.leaseRevoke({ ID: lease }, options())
    },
    async secondsLeft(lease) {
      return Number((await leaseClient.leaseTimeToLive({ ID: lease, keys: false }, options())).TTL)
    },
    keepAlive: keepAliveOn(() => leaseClient.leaseKeepAlive(options())),
    async watch(range, after, { opened, changed, compacted, broken, answered }) {
      const stream = await watchClient.watch()
      let isOver = false
      const end = (tell?: () => void) => {
        if (isOver) return
        isOver = true
        // The client counts the end of a stream that can still be written as a failure of the server.
        stream.end()
        stream.cancel()
        tell?.()
      }
      stream.on('error', (error) => end(() => broken(error)))
      stream.on('end', () => end(broken))
      stream.on('data', ({ header, created, canceled, compact_revision, events }) => {
        if (isOver) return
        answered()
        const revision = Number(header.revision)
        if (canceled)
          end(() => (Number(compact_revision) > 0 ? compacted(Number(compact_revision)) : broken()))
        else if (created) {
          letProcessEnd(stream)
          opened(revision)
        } else if (events.length > 0) changed(events.map(eventOf), revision)
      })
      const start = after === undefined ? {} : { start_revision: String(after + 1) }
      stream.write({ create_request: { ...rangeOf(range), ...start, prev_kv: true, progress_notify: true } })
      return { probe: () => stream.write({ progress_request: {} }), close: () => end() }
    },
  }
}

/**
 * gRPC keeps the process alive while a call is under way, also for a watch that lasts as long as a lease is held, and has
 * no option for it. A connection counts its calls to know when, so the watch is taken out of that count. In a version of
 * gRPC that counts in another way, it stays counted.
 */
function letProcessEnd(stream: object): void {
  let call: Partial<GrpcCall> | undefined = stream
  for (let depth = 0; call && depth < MAX_WRAPPERS; depth++) {
    const { transport } = call
    if (hasMethods(transport, 'removeActiveCall')) {
      ;(transport as unknown as GrpcTransport).removeActiveCall(call)
      return
    }
    call = call.call ?? call.child ?? call.underlyingCalls?.[0]
  }
}

/** Calls of gRPC contain each other. The innermost one knows its connection. */
interface GrpcCall {
  readonly call: GrpcCall
  readonly child: GrpcCall
  readonly underlyingCalls: readonly GrpcCall[]
  readonly transport: unknown
}

interface GrpcTransport {
  removeActiveCall(call: object): void
}

/** Renewals of the same moment share a stream. On it they are answered one after the other. */
function keepAliveOn(open: () => ReturnType<Rpc['leaseClient']['leaseKeepAlive']>) {
  return together(
    RENEWALS_AT_ONCE,
    (lease: string) => lease,
    async (leases) => {
      const stream = await open()
      const seconds = new Map<string, number>()
      await new Promise<void>((resolve, reject) => {
        stream.on('data', ({ ID, TTL }) => {
          seconds.set(ID, Number(TTL))
          if (seconds.size < leases.length) return
          stream.end()
          resolve()
        })
        stream.on('error', reject)
        stream.on('end', () => reject(new LeaseError('store-unavailable', 'etcd: the stream ended')))
        for (const lease of leases) stream.write({ ID: lease })
      })
      return leases.map((lease) => seconds.get(lease) ?? 0)
    },
  )
}

function isEtcdClient(client: unknown): boolean {
  const { prefix, kv, leaseClient, watchClient } = Object(client) as Record<string, unknown>
  return (
    prefix instanceof Uint8Array &&
    hasMethods(kv, 'txn') &&
    hasMethods(leaseClient, 'leaseGrant', 'leaseRevoke', 'leaseTimeToLive', 'leaseKeepAlive') &&
    hasMethods(watchClient, 'watch')
  )
}

interface Stream<In, Out> {
  on(event: 'data', listener: (message: Out) => void): unknown
  on(event: 'error', listener: (error: unknown) => void): unknown
  on(event: 'end', listener: () => void): unknown
  write(message: In): void
  end(): void
  cancel(): void
}

/** The messages of etcd, as far as they are used. */
interface Rpc {
  readonly prefix: Uint8Array
  readonly kv: { txn(request: object, options: object): Promise<TxnResponse> }
  readonly leaseClient: {
    leaseGrant(request: object, options: object): Promise<{ readonly ID: string; readonly TTL: string }>
    leaseRevoke(request: object, options: object): Promise<unknown>
    leaseTimeToLive(request: object, options: object): Promise<{ readonly TTL: string }>
    leaseKeepAlive(options: object): Promise<Stream<object, { readonly ID: string; readonly TTL: string }>>
  }
  readonly watchClient: { watch(): Promise<Stream<object, WatchResponse>> }
}

interface TxnResponse {
  readonly header: { readonly revision: string }
  readonly succeeded: boolean
  readonly responses: readonly ResponseOperation[]
}

interface ResponseOperation {
  readonly response_range?: { readonly kvs: readonly KeyValue[]; readonly count: string } | null
  readonly response_delete_range?: { readonly prev_kvs: readonly KeyValue[]; readonly deleted: string } | null
  readonly response_txn?: { readonly succeeded: boolean } | null
}

interface WatchResponse {
  readonly header: { readonly revision: string }
  readonly created: boolean
  readonly canceled: boolean
  readonly compact_revision: string
  readonly events: readonly {
    readonly type: string
    readonly kv: KeyValue
    readonly prev_kv: KeyValue | null
  }[]
}

interface KeyValue {
  readonly key: Uint8Array
  readonly value: Uint8Array
  readonly create_revision: string
  readonly mod_revision: string
  readonly lease: string
}

const COMPARISONS = { equal: 0, greater: 1, less: 2 }
const TARGETS = { created: 1, modified: 2 }
const SORT = { ascending: 1, byCreation: 2 }

function compareOf({ key, end, compare, is, than }: EtcdCondition): object {
  const revision = compare === 'created' ? { create_revision: than } : { mod_revision: than }
  const range = end === undefined ? {} : { range_end: bytesOf(end) }
  return { key: bytesOf(key), ...range, result: COMPARISONS[is], target: TARGETS[compare], ...revision }
}

function requestOf(operation: EtcdOperation): object {
  if ('get' in operation) return { request_range: rangeOf(operation.get) }
  if ('remove' in operation)
    return { request_delete_range: { key: bytesOf(operation.remove), prev_kv: true } }
  if ('touch' in operation) {
    const { touch, created } = operation
    const put = { key: bytesOf(touch), ignore_value: true, ignore_lease: true }
    const isSame: EtcdCondition = { key: touch, compare: 'created', is: 'equal', than: created }
    return { request_txn: { compare: [compareOf(isSame)], success: [{ request_put: put }], failure: [] } }
  }
  const { put, value, lease = '0' } = operation
  return { request_put: { key: bytesOf(put), value: bytesOf(value), lease } }
}

function rangeOf({ key, end, limit, keysOnly, byCreation }: EtcdRange): object {
  return {
    key: bytesOf(key),
    ...(end !== undefined && { range_end: bytesOf(end) }),
    ...(limit !== undefined && { limit }),
    ...(keysOnly && { keys_only: true }),
    ...(byCreation && { sort_order: SORT.ascending, sort_target: SORT.byCreation }),
  }
}

function resultOf({ response_range, response_delete_range, response_txn }: ResponseOperation): EtcdResult {
  if (response_txn) return { entries: [], count: response_txn.succeeded ? 1 : 0 }
  if (response_range) return { entries: response_range.kvs.map(entryOf), count: Number(response_range.count) }
  const removed = response_delete_range?.prev_kvs.map(entryOf) ?? []
  return { entries: removed, count: removed.length }
}

function eventOf({ type, kv, prev_kv }: WatchResponse['events'][number]): EtcdEvent {
  const isPut = type.toLowerCase() === 'put'
  return {
    type: isPut ? 'put' : 'delete',
    entry: entryOf(kv),
    previous: isObject(prev_kv) ? entryOf(prev_kv) : null,
  }
}

function entryOf({ key, value, create_revision, mod_revision, lease }: KeyValue): EtcdEntry {
  return {
    key: decoder.decode(key),
    value: decoder.decode(value),
    created: Number(create_revision),
    modified: Number(mod_revision),
    lease,
  }
}

function bytesOf(text: string): Uint8Array {
  return encoder.encode(text)
}
