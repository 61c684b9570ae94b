/** What the stores expect of a browser. Runs on the fakes and in Chromium, to show that both behave alike. */
import type { WebDirectory, WebLocks } from '../../src/stores/browser/platform.ts'

export interface Platform {
  readonly locks: WebLocks
  /** An empty directory. */
  readonly directory: WebDirectory
}

export interface PlatformCase {
  readonly title: string
  observe(platform: Platform): Promise<unknown>
  readonly expected: unknown
}

export const platformCases: readonly PlatformCase[] = [
  {
    title: 'a lock goes to those who wait in their order',
    async observe({ locks }) {
      const order: string[] = []
      const first = held(locks, 'order')
      await first.granted
      const others = ['a', 'b'].map((name) => locks.request('order', {}, () => order.push(name)))
      const { held: holders = [], pending = [] } = await locks.query()
      first.letGo()
      await Promise.all(others)
      return [order, count(holders, 'order'), count(pending, 'order')]
    },
    expected: [['a', 'b'], 1, 2],
  },
  {
    title: 'ifAvailable gives null for a held lock',
    async observe({ locks }) {
      const first = held(locks, 'available')
      await first.granted
      const whileHeld = await locks.request('available', { ifAvailable: true }, (lock) => lock === null)
      first.letGo()
      await first.done
      const free = await locks.request('available', { ifAvailable: true }, (lock) => lock === null)
      return [whileHeld, free]
    },
    expected: [true, false],
  },
  {
    title: 'a stolen lock rejects as AbortError, and its callback runs on',
    async observe({ locks }) {
      const victim = held(locks, 'stolen')
      await victim.granted
      const stolen = await locks.request('stolen', { steal: true }, () => 'mine')
      const outcome = await victim.done
      victim.letGo()
      return [stolen, outcome]
    },
    expected: ['mine', 'AbortError'],
  },
  {
    title: 'a shared lock has several holders, and none passes a waiter for an exclusive one',
    async observe({ locks }) {
      const holders = [held(locks, 'shared', { mode: 'shared' }), held(locks, 'shared', { mode: 'shared' })]
      await Promise.all(holders.map(({ granted }) => granted))
      const order: string[] = []
      const waiting = [
        locks.request('shared', {}, () => order.push('alone')),
        locks.request('shared', { mode: 'shared' }, () => order.push('shared')),
      ]
      const { held: locked = [] } = await locks.query()
      for (const { letGo } of holders) letGo()
      await Promise.all(waiting)
      return [locked.filter(({ name }) => name === 'shared').map(({ mode }) => mode), order]
    },
    expected: [
      ['shared', 'shared'],
      ['alone', 'shared'],
    ],
  },
  {
    title: 'a shared lock is stolen from all its holders',
    async observe({ locks }) {
      const victims = [held(locks, 'all', { mode: 'shared' }), held(locks, 'all', { mode: 'shared' })]
      await Promise.all(victims.map(({ granted }) => granted))
      const stolen = await locks.request('all', { steal: true }, () => 'mine')
      const outcomes = await Promise.all(victims.map(({ done }) => done))
      for (const { letGo } of victims) letGo()
      return [stolen, ...outcomes]
    },
    expected: ['mine', 'AbortError', 'AbortError'],
  },
  {
    title: 'an abort ends a wait with its own reason, and does nothing after the grant',
    async observe({ locks }) {
      const stop = new AbortController()
      const first = held(locks, 'aborted', { signal: stop.signal })
      await first.granted
      const waiting = locks.request('aborted', { signal: stop.signal }, () => 'granted')
      stop.abort(new Error('enough'))
      const outcome = await waiting.catch((error: Error) => error.message)
      first.letGo()
      return [outcome, await first.done]
    },
    expected: ['enough', 'let go'],
  },
  {
    title: 'a file that is not there is not found, and a new one is empty',
    async observe({ directory }) {
      const missing = await nameOf(directory.getFileHandle('none'))
      const removed = await nameOf(directory.removeEntry('none'))
      const file = await directory.getFileHandle('new', { create: true })
      return [missing, removed, await textOf(file)]
    },
    expected: ['NotFoundError', 'NotFoundError', ''],
  },
  {
    title: 'what is written is seen when the writer closes, be it aborted later, and never after an abort',
    async observe({ directory }) {
      const file = await directory.getFileHandle('text', { create: true })
      const seen: string[] = []
      for (const [text, end] of [
        ['first', 'close'],
        ['second', 'abort'],
      ] as const) {
        const writer = await file.createWritable({ mode: 'exclusive' })
        await writer.write(text)
        seen.push(await textOf(file))
        await writer[end]()
        await writer.abort()
        seen.push(await textOf(file))
      }
      return seen
    },
    expected: ['', 'first', 'first', 'first'],
  },
  {
    title: 'an exclusive writer keeps out other writers and the removal',
    async observe({ directory }) {
      const file = await directory.getFileHandle('gate', { create: true })
      const writer = await file.createWritable({ mode: 'exclusive' })
      const second = await nameOf(file.createWritable({ mode: 'exclusive' }))
      const removal = await nameOf(directory.removeEntry('gate'))
      await writer.abort()
      const third = await file.createWritable({ mode: 'exclusive' })
      await third.close()
      await directory.removeEntry('gate')
      return [second, removal]
    },
    expected: ['NoModificationAllowedError', 'NoModificationAllowedError'],
  },
  {
    title: 'a file that was removed can be opened for writing, but not read',
    async observe({ directory }) {
      const file = await directory.getFileHandle('removed', { create: true })
      await directory.removeEntry('removed')
      const writer = await file.createWritable({ mode: 'exclusive' })
      const reading = await nameOf(file.getFile())
      await writer.abort()
      return [reading, await nameOf(directory.getFileHandle('removed'))]
    },
    expected: ['NotFoundError', 'NotFoundError'],
  },
]

function held(locks: WebLocks, name: string, how: Parameters<WebLocks['request']>[1] = {}) {
  let letGo = () => {}
  let onGranted = () => {}
  const granted = new Promise<void>((resolve) => {
    onGranted = resolve
  })
  const done = locks
    .request(name, how, () => {
      onGranted()
      return new Promise<string>((resolve) => {
        letGo = () => resolve('let go')
      })
    })
    .catch((error: Error) => error.name)
  return { granted, done, letGo: () => letGo() }
}

function count(locks: readonly { readonly name?: string }[], name: string): number {
  return locks.filter((lock) => lock.name === name).length
}

function nameOf(work: Promise<unknown>): Promise<string> {
  return work.then(
    () => 'no error',
    (error: Error) => error.name,
  )
}

async function textOf(file: { getFile(): Promise<{ text(): Promise<string> }> }): Promise<string> {
  return (await file.getFile()).text()
}
