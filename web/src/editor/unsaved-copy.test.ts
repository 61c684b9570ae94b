import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { createUnsavedCopy } from './unsaved-copy.ts'

const LEFT = { text: 'typed before the crash', base: 7 }

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

describe('the copy of unsaved text', () => {
  let storage: FakeStorage
  let openPages: string[]
  beforeEach(() => {
    storage = new FakeStorage()
    openPages = []
    const held = () => openPages.map((page) => ({ name: `holdfast:unsaved:${page}` }))
    const locks = { request: async () => {}, query: async () => ({ held: held() }) }
    vi.stubGlobal('localStorage', storage)
    vi.stubGlobal('navigator', { locks })
  })
  afterEach(() => {
    createUnsavedCopy('plan').keep(null)
    vi.unstubAllGlobals()
  })
  const leave = (page: string, value: unknown) =>
    storage.setItem(`holdfast:unsaved:"plan"${page}`, JSON.stringify(value))

  it('of a page that is gone is found, and belongs to this page from then on', async () => {
    leave('gone', LEFT)
    expect(await createUnsavedCopy('plan').claim()).toEqual(LEFT)
    expect(Object.keys(storage)).toHaveLength(1)
    expect(await createUnsavedCopy('plan').claim()).toEqual(LEFT)
    expect(await createUnsavedCopy('plan-2').claim()).toBeNull()
  })

  it('of a page that is open is left alone', async () => {
    leave('open', LEFT)
    openPages = ['open']
    expect(await createUnsavedCopy('plan').claim()).toBeNull()
    expect(Object.keys(storage)).toHaveLength(1)
  })

  it('of this page comes before that of another', async () => {
    leave('gone', LEFT)
    const own = createUnsavedCopy('plan')
    own.keep({ text: 'own', base: null })
    own.flush()
    expect(await createUnsavedCopy('plan').claim()).toMatchObject({ text: 'own' })
    own.keep(null)
    expect(await createUnsavedCopy('plan').claim()).toEqual(LEFT)
  })

  it('is found beside damaged ones, which stay', async () => {
    leave('damaged', { text: 5 })
    storage.setItem('holdfast:unsaved:"plan"damaged too', '{')
    leave('gone', LEFT)
    expect(await createUnsavedCopy('plan').claim()).toEqual(LEFT)
    expect(Object.keys(storage)).toHaveLength(3)
  })

  it('stays where it is if there is no room for another', async () => {
    leave('gone', LEFT)
    vi.spyOn(storage, 'setItem').mockImplementation(() => {
      throw new Error('full')
    })
    expect(await createUnsavedCopy('plan').claim()).toEqual(LEFT)
    expect(Object.keys(storage).filter((key) => key.endsWith('gone'))).toHaveLength(1)
  })

  it('lasts as long as the page where storage is refused', async () => {
    vi.stubGlobal('localStorage', undefined)
    const copy = createUnsavedCopy('plan')
    copy.keep(LEFT)
    copy.flush()
    expect(await createUnsavedCopy('plan').claim()).toEqual(LEFT)
  })
})
