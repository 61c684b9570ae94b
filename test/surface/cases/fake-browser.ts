import assert from 'node:assert/strict'
import { chromeStorage, createSync, webLocks } from 'holdfast/sync'
import { FakeClock, fakeBrowser } from 'holdfast/testing'

/** A browser with an extension, as the testing part of docs/sync.md uses it. */
export async function fakeBrowserCase(): Promise<void> {
  await syncsPages()
  await hasApi()
  await sendsMessages()
  await killsContexts()
}

async function syncsPages(): Promise<void> {
  const clock = new FakeClock()
  const browser = fakeBrowser({ clock, flavour: 'firefox' })
  const open = () => {
    const { api, locks, clock } = browser.openPage()
    return createSync({ storage: chromeStorage('local', api), locks: webLocks({ locks, clock }), clock })
  }
  const [one, two] = [open(), open()]
  void one.setEntity('milk', { label: 'Milk' })
  void two.bootstrap()
  await clock.advance(1000)
  assert.deepEqual(two.get('milk'), { label: 'Milk' })
}

async function hasApi(): Promise<void> {
  const clock = new FakeClock()
  const browser = fakeBrowser({ clock })
  const { api, locks } = browser.openPage()
  let writes = 0
  browser.onWrite(() => writes++)
  const changed: string[] = []
  const onChange = (changes: object) => void changed.push(...Object.keys(changes))
  api.storage.onChanged.addListener(onChange)
  /** Every call takes time, which passes only here. */
  const answer = async <T>(call: Promise<T>): Promise<T> => {
    await clock.advance(100)
    return call
  }
  const { local } = api.storage
  await answer(local.set({ milk: 1, bread: 2 }))
  await answer(local.remove(['bread']))
  assert.deepEqual(await answer(local.get(['milk'])), { milk: 1 })
  assert.deepEqual(local.getKeys && (await answer(local.getKeys())), ['milk'])
  assert.deepEqual([browser.items(), browser.items('sync')], [{ milk: 1 }, {}])
  assert.deepEqual([writes, changed.sort()], [2, ['bread', 'bread', 'milk']])
  api.storage.onChanged.removeListener(onChange)
  assert.match(api.runtime.getURL('page.html'), /page\.html$/)
  assert.equal(await answer(locks.request('lock', async (lock) => lock?.name)), 'lock')
  const options = { signal: new AbortController().signal, ifAvailable: true }
  assert.equal(await answer(locks.request('lock', options, async (lock) => lock?.name)), 'lock')
}

async function sendsMessages(): Promise<void> {
  const clock = new FakeClock()
  const browser = fakeBrowser({
    ...{ clock, random: () => 0.5, latency: ['2ms', 4], messageLatency: [5, '9ms'] },
    ...{ flavour: 'chrome', quotaBytes: 100, deliveries: () => 2 },
  })
  const [page, tab] = [browser.openPage(), browser.openTab()]
  const received: unknown[] = []
  tab.api.runtime.onMessage.addListener((message) => {
    received.push(message)
    return undefined
  })
  const tabs = page.api.tabs?.query({})
  await clock.advance(100)
  const [{ id } = {}] = (await tabs) ?? []
  assert(id !== undefined)
  const sent = page.api.tabs?.sendMessage(id, 'to the tab')
  await clock.advance(100)
  await sent
  assert.deepEqual(received, ['to the tab', 'to the tab'])
  const tooMuch = assert.rejects(page.api.storage.local.set({ text: 'x'.repeat(200) }), /quota/i)
  await clock.advance(100)
  await tooMuch
}

async function killsContexts(): Promise<void> {
  const clock = new FakeClock()
  const browser = fakeBrowser({ clock })
  const received: unknown[] = []
  let runs = 0
  browser.registerWorker((worker) => {
    runs++
    worker.api.runtime.onMessage.addListener((message) => {
      received.push(message)
      return undefined
    })
  })
  const { worker } = browser
  assert(worker)
  const ran: string[] = []
  worker.clock.setTimer(() => ran.push('cancelled'), 10, true)()
  worker.clock.setTimer(() => ran.push('due'), 10)
  await clock.advance(10)
  worker.clock.setTimer(() => ran.push('dead'), 10)
  assert(worker.clock.now() > worker.clock.monotonic())
  assert(worker.clock.random() < 1)
  worker.kill()
  assert.deepEqual([worker.alive, browser.worker], [false, undefined])
  const sent = browser.openPage().api.runtime.sendMessage('wake up')
  await clock.advance(100)
  await sent
  assert.deepEqual([ran, runs, received], [['due'], 2, ['wake up']])
}
