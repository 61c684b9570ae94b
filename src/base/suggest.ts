/** What to write instead of an unknown name or a wrong argument. A bundle for pages has `suggest-browser.ts` instead. */
import { LETTERS_PER_MISTAKE, LONGEST_GUESSED_NAME } from './options.ts'

const UNITS = /^(in|ms|millis|milliseconds|s|sec|secs|seconds|minutes)$/i

/** Each option, and what other libraries call it. Of several that fit, the first one here is meant. */
const SYNONYMS: Readonly<Record<string, string>> = {
  wait: 'timeout acquireTimeout waitTime waitTimeout maxWait waitFor block blocking blockFor patience deadline giveUpAfter for',
  mode: 'exclusive readOnly read reader write writer rw kind type',
  share:
    'limit permits max maxHolders holders count concurrency maxConcurrency slots capacity size semaphore readers shared n parallelism parallel',
  ttl: 'expiry expire expires expiresIn expireIn expiresAfter expireAfter expiration duration leaseMs leaseMillis leaseFor leaseTime leaseTimeout leaseDuration timeToLive lockTime lockTimeout lockTtl lockAtMostFor lifetime maxAge px ex validity validFor hold holdFor maxHold maxHoldTime extendBy extension for leaseLength',
  heartbeat:
    'renew renewal renewEvery renewInterval autoRenew autoExtend extend refresh refreshInterval keepAlive watchdog interval automaticExtensionThreshold watchdogTimeout watchdogInterval renewDeadline',
  debounce: 'delay interval throttle every',
  saveAfter: 'debounce delay interval throttle every autosave autosaveDelay',
  saveWithin: 'maxWait maxDelay maxInterval idle',
  maxBytes: 'maxSize size sizeLimit limit quota maxTotalBytes totalBytes',
  retry:
    'retries retryCount retryDelay retryJitter retryInterval retryStrategy backoff delay acquireAttemptsLimit jitter attempts tries retryAttempts',
  maxAttempts: 'attempts tries maxTries maxRetries retries retryCount maxRetry',
  add: 'create createIfMissing autoCreate insert upsert enqueue ensure',
  payload: 'input body args arguments request fingerprint hash',
  keep: 'cache cacheFor retain retainFor retention storeFor cacheTtl retentionTime persist localStorage remember',
  owner:
    'name id identity identifier clientId holder lockedBy by user worker process hostname host pid machine instance',
  worker: 'name owner identity instance host',
  metadata:
    'meta data payload info tags label labels tag annotations details value extra context description note notes comment attributes reason',
  signal: 'abort abortSignal abortController controller cancel cancelToken cancellation ac',
  atLeast:
    'lockAtLeastFor minHold minTime minTtl minimum cooldown throttle minDuration holdAtLeast minHoldTime minLeaseTime minLockTime',
  lockDelay: 'delayAfterExpiry gracePeriod grace',
  onEvent: 'listener callback log logger onChange onSave onSaved onState onError onLost events on debug',
  closeTimeout: 'shutdownTimeout shutdown drainTimeout drain stopTimeout gracePeriod grace',
  callTimeout: 'timeout requestTimeout commandTimeout queryTimeout storeTimeout connectTimeout',
  clock: 'now time timer timers date',
  endsWithProcess: 'processBound releaseOnExit exit',
  prefix: 'namespace keyPrefix keyspace name key ns startsWith filter pattern match root resource',
  limit: 'pageSize size take count first perPage max',
  after: 'cursor next nextToken continuationToken offset page startAfter',
  namespace: 'prefix keyPrefix key name ns app id project projectId storageKey',
  layout: 'option structure',
  table: 'tableName name collection relation',
  migrate: 'migration migrations createTable autoMigrate autoCreate createTables install',
  schema: 'schemaName database db version migration migrations',
  maxInFlight: 'concurrency pool poolSize parallel limit parallelism',
  work: 'handler run fn callback process',
  retryAfter: 'retryDelay retryIn delay backoff',
  jobs: 'store storage',
  principal: 'user userId client tenant owner identity',
  settings:
    'port host hostname cors origin origins ttl config configuration token tokens adminToken adminTokens leaseToken leaseTokens secret cookieSecret rate rateLimit trustProxy tls https heartbeat',
  identify: 'authenticate authentication session getUser user currentUser',
  authorize: 'auth authorization permissions can access verify',
  store: 'db database redis postgres mysql sqlite pool client connection storage backend leases locks',
  documents: 'contents content documentStore docs texts contentStore',
  audit: 'auditLog auditTrail trail',
  bus: 'pubsub broker broadcast events emitter',
  log: 'logger logging onError onLog',
  origins: 'cors allowedOrigins corsOrigins',
  host: 'hostname address bind',
  name: 'user userName username displayName label',
  token: 'authorization auth bearer apiKey secret password accessToken',
  headers: 'token authorization auth bearer apiKey credentials cookie',
  url: 'server serverUrl endpoint baseUrl host origin address api apiUrl',
  idleAfter: 'idle idleTimeout inactivity',
  cookieSecrets: 'secret sessionSecret cookieSecret',
  tlsCert: 'cert certificate',
  maxBody: 'bodyLimit bodySize maxBodySize limit maxPayload payloadLimit',
  maxSockets: 'connections maxConnections',
  takeoverAfter: 'steal stale staleAfter ttl lockTimeout timeout expiry',
  read: 'content getContent value getValue state getState snapshot getSnapshot data getData serialize',
  directory: 'dir folder path save write storage store',
  generations: 'history versions backups keep maxVersions maxHistory',
  storage: 'area store adapter driver backend',
  messenger: 'channel broadcast broadcastChannel port',
  defaults: 'initial initialSettings defaultSettings initialState settings',
  faults: 'latency delay loss errors drop',
  listen: 'subscriber subscribe pubsub notify',
  failures: 'onFailure cacheErrors cacheFailures keepErrors keepFailures errors',
  columns: 'columnNames fields fieldNames mapping',
  path: 'route url endpoint pathname',
  idOf: 'getId idFrom id jobId extractId key',
  lockedStatus: 'status statusCode',
  poll: 'polling pollInterval pollEvery interval',
  database: 'schema db databaseName dbName',
  synchronous: 'fsync durability pragma',
  tlsKey: 'tlsKeyFile tlsKeyPath key privateKey',
  trustProxy: 'proxy proxies behindProxy',
  clientId: 'tabId sessionId',
  codec: 'serialize serializer deserialize parse encode decode merge format',
  tries: 'retries retryCount attempts maxRetries maxAttempts',
  ls: 'list',
  'if-available': 'nonBlocking noWait try tryOnce tryLock ifFree skip skipIfHeld skipIfLocked failIfHeld',
  'at-least': 'min minTime minDuration cooldown lockAtLeastFor holdAtLeast',
}

/** Names that are something else than an option. The hint is given where the options of `beside` are known. */
const ELSEWHERE: readonly {
  readonly beside: string
  /** Calls that know this option are others. */
  readonly without?: string
  readonly names: string
  readonly meant: string
}[] = [
  // Only where one can wait is there a method that does not.
  {
    beside: 'owner wait',
    names: 'ifAvailable nonBlocking noWait try tryOnce tryLock once throwOnTimeout failIfHeld',
    meant: '`tryAcquire`',
  },
  {
    beside: 'owner wait',
    names: 'ifFree ifUnlocked skipIfHeld skipIfLocked skipIfBusy',
    meant: '`tryWithLease`',
  },
  {
    beside: 'owner share',
    without: 'wait',
    names: 'wait timeout waitTime maxWait',
    meant: '`wait` of `acquire`',
  },
  { beside: 'owner wait', names: 'force steal', meant: '`release`' },
  // There, they are how long one waits for the lock. `retry` is about a store that does not answer.
  { beside: 'owner wait', names: 'retryCount retryDelay retryJitter acquireAttemptsLimit', meant: '`wait`' },
  {
    beside: 'owner share',
    names: 'onEvent onAcquire onAcquired onRenew onRenewed onRelease onReleased listener',
    meant: '`leases.subscribe`',
  },
  {
    beside: 'owner heartbeat',
    names: 'onLost onLockLost onLeaseLost onLoss onExpire onExpired onExpiry onAbort',
    meant: '`lease.onLost`',
  },
  { beside: 'owner share', names: 'token fencing fencingToken fence', meant: '`lease.token`' },
  { beside: 'owner share', names: 'key resource lockName lockKey', meant: 'the first argument' },
  {
    beside: 'owner closeTimeout',
    names: 'prefix keyPrefix namespace keyspace',
    meant: '`prefix` of the store',
  },
  {
    beside: 'owner closeTimeout',
    names: 'store client redis pool db database url connection connectionString',
    meant: 'the first argument',
  },
  { beside: 'maxInFlight', names: 'ttl wait heartbeat owner retry', meant: 'an option of `createLeases`' },
  {
    beside: 'listen maxInFlight',
    names: 'client redis pool db database url host port connection connectionString',
    meant: 'the first argument',
  },
  {
    beside: 'maxAttempts callTimeout',
    names: 'key id jobId idempotencyKey dedupe dedupeKey',
    meant: 'the first argument',
  },
  { beside: 'synchronous table', names: 'file filename path database db', meant: 'the first argument' },
  {
    beside: 'saveAfter saveWithin',
    names: 'onChange onState onUpdate onSave onSaved',
    meant: '`draft.subscribe`',
  },
  { beside: 'url idleAfter', names: 'room roomId document documentId', meant: 'the first argument' },
  {
    beside: 'url idleAfter',
    names: 'onChange onState onStateChange onUpdate onLost onAcquired',
    meant: '`lock.subscribe`',
  },
  { beside: 'url idleAfter', names: 'autoAcquire acquire eager wait', meant: '`lock.acquire`' },
  { beside: 'url idleAfter', names: 'ttl lockTtl leaseTime', meant: '`ttl` in the settings of the server' },
  {
    beside: 'url idleAfter',
    names: 'heartbeat heartbeatInterval',
    meant: '`heartbeat` in the settings of the server',
  },
  { beside: 'storage messenger', names: 'onChange onUpdate listener', meant: '`sync.subscribe`' },
  { beside: 'settings assets', names: 'middleware app express', meant: '`nodeListener`' },
]

/** Former names that are still taken beside the current one, and suggested to nobody. */
const FORMER_NAMES: Readonly<Record<string, string>> = { timeout: 'wait' }

export function suggest(name: string, known: readonly string[]): string {
  const current = known.filter((other) => !known.includes(FORMER_NAMES[other] ?? ''))
  const near = nearest(name, current)
  const meant = elsewhere(name, current) ?? (near && `\`${near}\``)
  return meant ? `did you mean ${meant}?` : `expected one of ${current.join(', ')}`
}

function elsewhere(name: string, known: readonly string[]): string | undefined {
  const joined = name.replaceAll(/[-_]/g, '').toLowerCase()
  const found = ELSEWHERE.find(
    ({ beside, without = '', names }) =>
      !known.includes(without) &&
      names.toLowerCase().split(' ').includes(joined) &&
      beside.split(' ').every((other) => known.includes(other)),
  )
  return found?.meant
}

/** The known name that was probably meant; `undefined` if none is near. */
export function nearest(name: string, known: readonly string[]): string | undefined {
  if (name.length > LONGEST_GUESSED_NAME) return undefined
  const words = name.split(/(?<=[a-z])(?=[A-Z])|(?=[A-Z][a-z])|[-_\s]+/).reverse()
  // `lease_time_ms` is a lease time.
  const withoutUnit = words
    .filter((word) => !UNITS.test(word))
    .reverse()
    .join('')
  return (
    alike(name, known, 0) ??
    synonym(name, known) ??
    synonym(withoutUnit, known) ??
    alike(name, known) ??
    known.find((other) => name.length > 2 && other.toLowerCase().startsWith(name.toLowerCase())) ??
    // In English the last word names the thing: `abortSignal` is a signal.
    firstOf(words, (word) => alike(word, known, 0)) ??
    firstOf(words, (word) => synonym(word, known))
  )
}

/** The known name that this one misspells by one letter: missing, added, another, or swapped with the next. */
export function misspelt(name: string, known: readonly string[]): string | undefined {
  return known.includes(name) ? undefined : known.find((other) => isOneMistake(name, other))
}

/** For a message about a wrong argument: the mistake that this value suggests. Empty: none. */
export function hintFor(option: string, received: unknown): string {
  // redlock has the time before the work.
  if ((option === 'options' || option === 'work') && typeof received === 'number' && received >= 1000)
    return `; write a time as an option, such as { ttl: ${received} }`
  // Nothing else that is text is shown: it may be an address with a password.
  if (option === 'options' && typeof received === 'string' && /^\d+(ms|s|m|h)$/.test(received))
    return `; write a time as an option, such as { ttl: '${received}' }`
  if ((option !== 'resource' && option !== 'work') || typeof received !== 'object' || !received) return ''
  if (!Array.isArray(received))
    return Object.getPrototypeOf(received) === Object.prototype ? '; the options come last' : ''
  return option === 'resource' ? '; acquireAll takes several names' : ''
}

function firstOf<T>(words: readonly string[], find: (word: string) => T | undefined): T | undefined {
  for (const word of words) {
    const found = find(word)
    if (found !== undefined) return found
  }
  return undefined
}

function synonym(name: string, known: readonly string[]): string | undefined {
  const fits = (option: string) =>
    (SYNONYMS[option] ?? '').toLowerCase().split(' ').includes(name.toLowerCase())
  return Object.keys(SYNONYMS).find((option) => known.includes(option) && fits(option))
}

/** The known name with the fewest mistakes, if there are few. */
function alike(
  name: string,
  known: readonly string[],
  limit = Math.max(1, Math.floor(name.length / LETTERS_PER_MISTAKE)),
): string | undefined {
  const scored = known.map((other) => ({
    other,
    mistakes: mistakesIn(name.toLowerCase(), other.toLowerCase()),
  }))
  const near = scored.filter(({ mistakes }) => mistakes <= limit && mistakes < name.length)
  return near.sort((a, b) => a.mistakes - b.mistakes)[0]?.other
}

/** Whether two words that differ have only one mistake between them. Takes much less time than to count all of them. */
function isOneMistake(word: string, other: string): boolean {
  if (Math.abs(word.length - other.length) > 1) return false
  let same = 0
  while (same < word.length && word[same] === other[same]) same++
  const [rest, meant] = [word.slice(same), other.slice(same)]
  const isSwapped = rest[0] === meant[1] && rest[1] === meant[0] && rest.slice(2) === meant.slice(2)
  return rest.slice(1) === meant || rest === meant.slice(1) || rest.slice(1) === meant.slice(1) || isSwapped
}

/** Letters that are missing, added, other ones, or swapped with the next. */
function mistakesIn(word: string, other: string): number {
  let beforeLast: number[] = []
  let last = Array.from({ length: other.length + 1 }, (_, column) => column)
  for (let row = 1; row <= word.length; row++) {
    const current = [row]
    for (let column = 1; column <= other.length; column++) {
      const isSame = word[row - 1] === other[column - 1]
      const isSwapped = word[row - 1] === other[column - 2] && word[row - 2] === other[column - 1]
      current[column] = Math.min(
        (last[column] ?? 0) + 1,
        (current[column - 1] ?? 0) + 1,
        (last[column - 1] ?? 0) + (isSame ? 0 : 1),
        isSwapped && row > 1 && column > 1 ? (beforeLast[column - 2] ?? 0) + 1 : Infinity,
      )
    }
    beforeLast = last
    last = current
  }
  return last[other.length] ?? 0
}
