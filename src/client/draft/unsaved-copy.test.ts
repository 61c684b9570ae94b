import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import type { Unsaved } from './copy-record.ts'
import { UnsavedCopy } from './unsaved-copy.ts'

const LEFT: Unsaved = {
  content: 'typed before the crash',
  base: { token: 7, content: 'saved before' },
  theirs: [],
  sentWith: null,
}

/** Its items are its own properties, as those of a browser are. */
class FakeStorage {
  [key: string]: unknown

  setItem(key: string, value: string): void {
    this[key] = value
  }

  getItem(key: string): string | null {
    const value = this[key]
    return typeof value === 'string' ? value : null
  }

  removeItem(key: string): void {
    delete this[key]
  }
}

describe('the copy of unsaved content', () => {
  let storage: FakeStorage
  let openPages: string[]
  /** What releases the Web Lock of a page. */
  let ends: Map<string, () => void>
  let left = 0
  const onLeft = () => left++
  beforeEach(() => {
    ends = new Map()
    left = 0
    storage = new FakeStorage()
    openPages = []
    const held = () => openPages.map((page) => ({ name: `holdfast:unsaved:${page}` }))
    const locks = {
      request: async (name: string, work: () => unknown) => {
        const page = name.slice('holdfast:unsaved:'.length)
        if (openPages.includes(page)) await new Promise<void>((resolve) => ends.set(page, resolve))
        return page === '' || ends.has(page) ? work() : new Promise(() => {})
      },
      query: async () => ({ held: held() }),
    }
    vi.stubGlobal('localStorage', storage)
    vi.stubGlobal('navigator', { locks })
  })
  afterEach(async () => {
    for (const key of ['plan', 'plan-2']) {
      const copy = new UnsavedCopy(key)
      await copy.claim(() => false, onLeft)
      copy.keep(null)
    }
    vi.unstubAllGlobals()
  })
  const leave = (page: string, value: unknown) =>
    storage.setItem(`holdfast:unsaved:"plan"${page}`, JSON.stringify(value))
  const claimed = async (copy: UnsavedCopy): Promise<Unsaved | null> => {
    let found: Unsaved | null = null
    await copy.claim((unsaved) => {
      found = unsaved
      return true
    }, onLeft)
    return found
  }
  const opened = async (key = 'plan') => {
    const copy = new UnsavedCopy(key)
    await copy.claim(() => false, onLeft)
    return copy
  }

  it('the copy of unsaved content of a page that is gone is found, and belongs to this page from then on', async () => {
    leave('gone', { at: 1, unsaved: LEFT })
    expect(await claimed(new UnsavedCopy('plan'))).toEqual(LEFT)
    expect(Object.keys(storage)).toEqual([expect.not.stringContaining('gone')])
    expect(await claimed(new UnsavedCopy('plan'))).toEqual(LEFT)
    expect(await claimed(new UnsavedCopy('plan-2'))).toBeNull()
  })

  it('the copy of unsaved content of a page that is open is left alone', async () => {
    leave('open', { at: 1, unsaved: LEFT })
    openPages = ['open']
    expect(await claimed(new UnsavedCopy('plan'))).toBeNull()
    expect(Object.keys(storage)).toHaveLength(1)
  })

  it('the copy of unsaved content of a page that is open is found when that page has ended, which is reported once', async () => {
    leave('open', { at: 1, unsaved: LEFT })
    openPages = ['open']
    const copy = new UnsavedCopy('plan')
    expect(await claimed(copy)).toBeNull()
    expect(await claimed(copy)).toBeNull()
    expect(left).toBe(0)
    openPages = []
    ends.get('open')?.()
    await vi.waitFor(() => expect(left).toBe(1))
    expect(await claimed(copy)).toEqual(LEFT)
  })

  it('the copy of unsaved content that is not accepted stays where it is', async () => {
    leave('gone', { at: 1, unsaved: LEFT })
    await opened()
    expect(Object.keys(storage)).toEqual([expect.stringContaining('gone')])
  })

  it('the copy of unsaved content of this page comes before that of another, and then the oldest', async () => {
    leave('newer', { at: 2, unsaved: { ...LEFT, content: 'newer' } })
    leave('gone', { at: 1, unsaved: LEFT })
    const own = await opened()
    own.keep(() => ({ ...LEFT, content: 'own' }))
    expect(await claimed(new UnsavedCopy('plan'))).toMatchObject({ content: 'own' })
    const next = await opened()
    next.keep(null)
    expect(await claimed(next)).toEqual(LEFT)
    next.keep(null)
    expect(await claimed(next)).toMatchObject({ content: 'newer' })
  })

  it('the copy of unsaved content that was saved is removed, and never offered', async () => {
    leave('gone', { at: 1, unsaved: null })
    const copy = new UnsavedCopy('plan')
    expect(await claimed(copy)).toBeNull()
    copy.keep(() => LEFT)
    expect(Object.keys(storage)).toHaveLength(1)
    copy.keep(null)
    expect(Object.keys(storage)).toHaveLength(0)
  })

  it('the copy of unsaved content of an earlier draft of this page is not removed by that draft any more', async () => {
    const earlier = await opened()
    earlier.keep(() => LEFT)
    expect(await claimed(new UnsavedCopy('plan'))).toEqual(LEFT)
    earlier.keep(null)
    expect(Object.keys(storage)).toHaveLength(1)
  })

  it('the copy of unsaved content is found beside damaged ones, which stay', async () => {
    leave('damaged', { at: 1, unsaved: { content: 'no base' } })
    storage.setItem('holdfast:unsaved:"plan"damaged too', '{')
    leave('gone', { at: 2, unsaved: LEFT })
    expect(await claimed(new UnsavedCopy('plan'))).toEqual(LEFT)
    expect(Object.keys(storage)).toHaveLength(3)
  })

  it('the copy of unsaved content stays where it is if there is no room for another', async () => {
    leave('gone', { at: 1, unsaved: LEFT })
    vi.spyOn(storage, 'setItem').mockImplementation(() => {
      throw new DOMException('full', 'QuotaExceededError')
    })
    expect(await claimed(new UnsavedCopy('plan'))).toEqual(LEFT)
    expect(Object.keys(storage).filter((key) => key.endsWith('gone'))).toHaveLength(1)
  })

  it('the copy of unsaved content lasts as long as the page where storage is refused', async () => {
    vi.stubGlobal('localStorage', undefined)
    const copy = await opened()
    copy.keep(() => LEFT)
    expect(await claimed(new UnsavedCopy('plan'))).toEqual(LEFT)
  })

  it('the copy of unsaved content of short content is written with every key, of long content after a pause or when the page is hidden', async () => {
    vi.useFakeTimers()
    const copy = await opened()
    const keys = 50
    let reads = 0
    const type = (content: string) =>
      copy.keep(() => {
        reads++
        return { ...LEFT, content }
      })
    for (let n = 0; n < keys; n++) type(`key ${n}`)
    expect([reads, Object.values(storage).join()]).toEqual([keys, expect.stringContaining('key 49')])
    type('x'.repeat(30_000))
    await vi.advanceTimersByTimeAsync(250)
    reads = 0
    for (let n = 0; n < keys; n++) type(`${'x'.repeat(30_000)} key ${n}`)
    expect(reads).toBe(0)
    copy.flush()
    expect(Object.values(storage).join()).toContain('x key 49')
    vi.useRealTimers()
  })

  it('the copy of unsaved content of long content is in the journal where IndexedDB is refused, unless it was saved meanwhile', async () => {
    vi.useFakeTimers()
    const copy = await opened()
    const long = 'x'.repeat(30_000)
    const keep = (content: string) => copy.keep(() => ({ ...LEFT, content }))
    for (const word of ['one', 'two']) {
      keep(`${long} ${word}`)
      await vi.advanceTimersByTimeAsync(250)
    }
    expect(Object.values(storage).join()).toContain('x two')
    keep(`${long} three`)
    vi.advanceTimersByTime(250)
    copy.keep(null)
    await vi.advanceTimersByTimeAsync(250)
    expect(Object.values(storage).join()).not.toContain('x')
    vi.useRealTimers()
  })
})
