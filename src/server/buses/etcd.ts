/**
 * A bus on one key of etcd. Every message overwrites it, and a watch delivers every value, so nothing has to be
 * deleted: etcd's own compaction forgets what was overwritten. A watch that broke begins anew, and what was sent
 * meanwhile is lost, as on every bus.
 */

import { expectOptions, expectText } from '../../base/arguments.ts'
import { LeaseError } from '../../base/errors.ts'
import { randomId } from '../../base/random-id.ts'
import { type EtcdClient, type EtcdDatabase, etcdDatabase } from '../../clients/etcd.ts'
import { etcdError } from '../../clients/etcd-errors.ts'
import { expectEtcdSize } from '../../clients/etcd-size.ts'
import { MAX_ETCD_BYTES } from '../../clients/options.ts'
import type { Bus } from '../bus.ts'
import { setLimited } from '../limited-map.ts'
import { MAX_BUS_SENDERS } from '../options.ts'
import { createBus, inTurns } from './create-bus.ts'
import { type Connection, type ConnectionHooks, ListeningConnection } from './listening-connection.ts'
import { ETCD_KEY, type EtcdBusOptions } from './options.ts'

/** How many characters are sent together at most, each of up to three bytes. */
const BATCH_LENGTH = MAX_ETCD_BYTES / 3

/**
 * A bus on a key of etcd. It uses your client and leaves it open.
 *
 * @example
 * const bus = etcdBus(new Etcd3({ hosts }))
 */
export function etcdBus(client: EtcdClient, options: EtcdBusOptions = {}): Bus & AsyncDisposable {
  const database = etcdDatabase(client)
  expectOptions(options, { key: 1 })
  const { key: name = ETCD_KEY } = options
  expectText('key', name)
  const key = database.prefix + name

  return createBus({ name: 'etcd', explain: etcdError }, (context) => {
    const listening = new ListeningConnection({ ...context, open: (hooks) => watch(database, key, hooks) })
    const sender = randomId()
    let sent = 0
    const send = inTurns(async (texts) => {
      for (const batch of batchesOf(texts)) {
        const value = [`${sender} ${++sent}`, ...batch].join('\n')
        await context.calls.run(() => database.transact([], [{ put: key, value }]))
      }
      listening.expectEcho()
    })
    return {
      async send(text) {
        expectEtcdSize('a message', text)
        await send(text)
      },
      listen: () => listening.open(),
      unlisten: () => listening.closeIfUnneeded(),
    }
  })
}

/** Messages are JSON without line breaks. */
function batchesOf(texts: readonly string[]): string[][] {
  const batches: string[][] = []
  let length = Infinity
  for (const text of texts) {
    length += text.length
    if (length <= BATCH_LENGTH) batches.at(-1)?.push(text)
    else {
      batches.push([text])
      length = text.length
    }
  }
  return batches
}

async function watch(
  database: EtcdDatabase,
  key: string,
  { received, broken }: ConnectionHooks,
): Promise<Connection> {
  const opened = Promise.withResolvers<void>()
  opened.promise.catch(() => {})
  const fail = (error: unknown) => {
    opened.reject(error)
    broken()
  }
  /** The last batch of each sender: the client repeats a request whose answer was lost. */
  const last = new Map<string, number>()
  const connection = await database.watch({ key }, undefined, {
    opened: () => opened.resolve(),
    changed(events) {
      for (const { type, entry } of events) {
        const [, sender = '', number, texts] = /^(\S+) (\d+)\n(.*)$/s.exec(entry.value) ?? []
        if (type !== 'put' || texts === undefined || Number(number) <= (last.get(sender) ?? 0)) continue
        setLimited(last, sender, Number(number), MAX_BUS_SENDERS)
        for (const text of texts.split('\n')) received(text)
      }
    },
    compacted: () => fail(new LeaseError('store-unavailable', 'etcd: the history was compacted')),
    broken: (error = new LeaseError('store-unavailable', 'etcd: the watch ended')) => fail(error),
    answered() {},
  })
  try {
    await opened.promise
    return connection
  } catch (error) {
    connection.close()
    throw error
  }
}
