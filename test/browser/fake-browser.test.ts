import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { eventually } from '../eventually.ts'
import { type Browser, type Context, openChromium, openFake, type Scope } from './browsers.ts'

/** The fake browser must behave like Chromium. */
describe.each([
  ['the fake browser', openFake],
  ['Chromium', openChromium],
])('%s', (_name, open) => {
  let browser: Browser
  const opened: Context[] = []
  beforeAll(async () => {
    browser = await open()
  })
  afterAll(async () => {
    await browser?.[Symbol.asyncDispose]()
  })
  afterEach(async () => {
    const cleaner = await browser.openPage()
    await cleaner.run(async ({ chrome }) => {
      await chrome.storage.local.remove(Object.keys(await chrome.storage.local.get(null)))
    })
    for (const context of [cleaner, ...opened.splice(0)]) await context.close()
  })

  const page = async () => keep(await browser.openPage())
  const tab = async () => keep(await browser.openTab())
  function keep(context: Context): Context {
    opened.push(context)
    return context
  }
  const logged = (context: Context, entries: unknown[]) =>
    eventually(async () => expect(await context.run(({ log }) => log)).toEqual(entries))

  const logChanges = ({ chrome, log }: Scope) => {
    chrome.storage.onChanged.addListener((changes, area) => log.push({ area, changes }))
  }
  const logMessages = ({ chrome, log }: Scope) => {
    chrome.runtime.onMessage.addListener((message) => {
      log.push(message)
      return undefined
    })
  }

  it('reports a write to every context once, with all its keys, also to the writer', async () => {
    const contexts = [await page(), await page(), await tab(), await browser.worker()]
    for (const context of contexts) await context.run(logChanges)
    await contexts[0]?.run(({ chrome }) => chrome.storage.local.set({ a: 1, b: { c: 2 } }))
    await contexts[0]?.run(({ chrome }) => chrome.storage.local.set({ a: 3, b: { c: 2 } }))
    await contexts[2]?.run(({ chrome }) => chrome.storage.local.remove(['b', 'never']))
    for (const context of contexts)
      await logged(context, [
        { area: 'local', changes: { a: { newValue: 1 }, b: { newValue: { c: 2 } } } },
        { area: 'local', changes: { a: { oldValue: 1, newValue: 3 } } },
        { area: 'local', changes: { b: { oldValue: { c: 2 } } } },
      ])
  })

  it('reads one key, several, those of an object with defaults, or everything', async () => {
    const one = await page()
    const read = await one.run(async ({ chrome: { storage } }) => {
      await storage.local.set({ a: 1, b: 2 })
      const found = [
        await storage.local.get('a'),
        await storage.local.get(['b', 'never']),
        await storage.local.get({ a: 7, c: 3 }),
        await storage.local.get(null),
      ]
      await storage.local.remove('a')
      return [...found, await storage.local.get(null)]
    })
    expect(read).toEqual([{ a: 1 }, { b: 2 }, { a: 1, c: 3 }, { a: 1, b: 2 }, { b: 2 }])
  })

  it('reports nothing for a write that changes nothing', async () => {
    const one = await page()
    await one.run(({ chrome }) => chrome.storage.local.set({ a: { x: 1, y: 2 } }))
    const other = await page()
    await other.run(logChanges)
    await one.run(({ chrome }) => chrome.storage.local.set({ a: { y: 2, x: 1 } }))
    await one.run(({ chrome }) => chrome.storage.local.remove(['never']))
    await one.run(({ chrome }) => chrome.storage.local.set({ end: 1 }))
    await logged(other, [{ area: 'local', changes: { end: { newValue: 1 } } }])
  })

  it('stores JSON, with the keys of objects in order', async () => {
    const text = await (await page()).run(async ({ chrome }) => {
      const value = {
        b: 1,
        gone: undefined,
        list: [undefined, Number.NaN, () => 1],
        at: new Date(0),
        run: () => 1,
        B: 1,
      }
      await chrome.storage.local.set({ value, nothing: undefined })
      return JSON.stringify(await chrome.storage.local.get(null))
    })
    expect(text).toBe('{"value":{"B":1,"at":{},"b":1,"list":[null,null,null]}}')
  })

  it('reads those of the given keys that exist', async () => {
    const found = await (await page()).run(async ({ chrome }) => {
      await chrome.storage.local.set({ a: 1, b: 2 })
      return [await chrome.storage.local.get(['b', 'c']), await chrome.storage.local.getKeys?.()]
    })
    expect(found).toEqual([{ b: 2 }, ['a', 'b']])
  })

  it('refuses items above the quota, and storage.session to content scripts', async () => {
    const failures = await (await page()).run(({ chrome }) => {
      const failure = (write: Promise<void> | undefined) =>
        write?.then(
          () => 'none',
          ({ message }) => message,
        )
      return Promise.all([
        failure(chrome.storage.sync?.set({ k: 'x'.repeat(9000) })),
        failure(chrome.storage.local.set({ k: 'x'.repeat(11_000_000) })),
      ])
    })
    expect(failures).toEqual([
      'Resource::kQuotaBytesPerItem quota exceeded',
      'Resource::kQuotaBytes quota exceeded',
    ])
    const refusal = (await tab()).run(({ chrome }) => chrome.storage.session?.get(null))
    await expect(refusal).rejects.toThrow('Access to storage is not allowed from this context.')
  })

  it('carries messages to the other pages and the worker, but not to content scripts or the sender', async () => {
    const [sender, other, content, worker] = [await page(), await page(), await tab(), await browser.worker()]
    const before = await worker.run(({ log }) => log.length)
    for (const context of [sender, other, content, worker]) await context.run(logMessages)
    await sender.run(({ chrome }) => chrome.runtime.sendMessage({ from: 'page', gone: undefined }))
    await content.run(({ chrome }) => chrome.runtime.sendMessage({ from: 'content' }))
    await logged(other, [{ from: 'page' }, { from: 'content' }])
    await logged(sender, [{ from: 'content' }])
    await eventually(async () =>
      expect((await worker.run(({ log }) => log)).slice(before)).toEqual([
        { from: 'page' },
        { from: 'content' },
      ]),
    )
    expect(await content.run(({ log }) => log)).toEqual([])
  })

  it('carries messages to the content script of a tab, and its answer back', async () => {
    const [sender, content] = [await page(), await tab()]
    expect(await content.run(({ chrome }) => chrome.tabs === undefined)).toBe(true)
    await content.run(({ chrome }) => {
      chrome.runtime.onMessage.addListener((message, _sender, respond) => {
        setTimeout(() => respond({ received: message }))
        return true
      })
    })
    const answers = await sender.run(async ({ chrome }) => {
      const tabs = (await chrome.tabs?.query({})) ?? []
      const sent = tabs.map(({ id }) => chrome.tabs?.sendMessage(id ?? 0, 'hello').catch(() => undefined))
      return (await Promise.all(sent)).filter((answer) => answer !== undefined && answer !== null)
    })
    expect(answers).toEqual([{ received: 'hello' }])
  })

  it('resolves without an answer if no listener answers', async () => {
    const [sender, other] = [await page(), await page()]
    await other.run(logMessages)
    const answer = await sender.run(({ chrome }) =>
      chrome.runtime.sendMessage(1).then((given) => given ?? 'none'),
    )
    expect(answer).toBe('none')
  })

  it('takes the first answer', async () => {
    const [sender, slow, fast] = [await page(), await page(), await page()]
    await slow.run(({ chrome }) => chrome.runtime.onMessage.addListener(() => true))
    await fast.run(({ chrome }) => {
      chrome.runtime.onMessage.addListener((_message, _sender, respond) => {
        respond('fast')
        return undefined
      })
    })
    expect(await sender.run(({ chrome }) => chrome.runtime.sendMessage(1))).toBe('fast')
  })

  it('rejects if the receiver that promised an answer has gone', async () => {
    const [sender, promising] = [await page(), await page()]
    await promising.run(({ chrome, log }) => {
      chrome.runtime.onMessage.addListener(() => {
        log.push('promised')
        return true
      })
    })
    const failure = sender.run(({ chrome }) =>
      chrome.runtime.sendMessage(1).then(
        () => 'none',
        ({ message }) => message as string,
      ),
    )
    await logged(promising, ['promised'])
    await promising.close()
    expect(await failure).toMatch(/message channel closed before a response was received/)
  })

  it('shares locks between pages and worker in the order of requests, but not with content scripts', async () => {
    const [one, two, content, worker] = [await page(), await page(), await tab(), await browser.worker()]
    const take = ({ locks, log }: Scope) => {
      void locks.request('l', () => {
        log.push('granted')
        return new Promise(() => {})
      })
    }
    const free = ({ locks }: Scope) => locks.request('l', { ifAvailable: true }, (lock) => lock !== null)
    await one.run(take)
    await logged(one, ['granted'])
    await two.run(take)
    await content.run(take)
    await logged(content, ['granted'])
    expect(await two.run(({ log }) => log)).toEqual([])
    expect(await worker.run(free)).toBe(false)
    await one.close()
    await logged(two, ['granted'])
    await two.close()
    await eventually(async () => expect(await worker.run(free)).toBe(true))
  })

  it('rejects a lock request whose signal has already aborted', async () => {
    const context = await page()
    const request = ({ locks, log }: Scope) =>
      locks
        .request('l', { signal: AbortSignal.abort('given up') }, () => log.push('granted'))
        .catch((error: unknown) => log.push(error))
    await context.run(request)
    await logged(context, ['given up'])
  })

  it('forgets the listeners of a dead worker, and rejects if there is no receiver', async () => {
    const sender = await page()
    const worker = await browser.worker()
    await worker.run(({ chrome }) => chrome.runtime.onMessage.addListener(() => true))
    await worker.close()
    const failure = () =>
      sender.run(({ chrome }) =>
        chrome.runtime.sendMessage(1).then(
          () => 'none',
          ({ message }) => message as string,
        ),
      )
    await eventually(async () =>
      expect(await failure()).toBe('Could not establish connection. Receiving end does not exist.'),
    )
  })
})
