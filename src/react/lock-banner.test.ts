import { createElement } from 'react'
import { renderToStaticMarkup } from 'react-dom/server'
import { describe, expect, it, vi } from 'vitest'
import { type DocumentLock, type DocumentLockState, INITIAL_STATE } from '../client/index.ts'
import { LeaseError, type LeaseErrorCode } from '../core/index.ts'
import { contentOf, type DemandKind } from './banner-content.ts'
import { LockBanner, type LockBannerProps } from './lock-banner.tsx'
import { lockTexts } from './lock-texts.ts'

const REASON = 'the server answered 413: a body may have 1048576 bytes here'
const LATIN_WORD = /[a-z]{2,}/i

function markupOf(
  change: Partial<DocumentLockState>,
  props?: Pick<LockBannerProps, 'lang' | 'texts' | 'draft' | 'onHandOver'>,
): string {
  const state = { ...INITIAL_STATE, ...change }
  return renderToStaticMarkup(createElement(LockBanner, { lock: lockIn(state), state, ...props }))
}

/** A lock that stays in this state. */
function lockIn(state: DocumentLockState): DocumentLock {
  return { state, subscribe: () => () => {} } as Partial<DocumentLock> as DocumentLock
}

describe('the banner', () => {
  const buttons = (markup: string) => markup.match(/<button[^>]*>/g) ?? []

  it('the banner has no button to press while there is no lock', () => {
    const [edit, ...rest] = buttons(renderToStaticMarkup(createElement(LockBanner, { lock: null })))
    expect([edit, rest]).toEqual([expect.stringContaining('disabled=""'), []])
    expect(buttons(markupOf({})).join()).not.toContain('disabled')
  })

  it.each(['en', 'ja'] as const)('says in which language its words are (%s)', (lang) => {
    expect(markupOf({}, { lang })).toMatch(new RegExp(`^<section [^>]*lang="${lang}"`))
  })

  it('the banner takes the earlier name of onHandoff, and warns once', () => {
    const emitWarning = vi.spyOn(process, 'emitWarning').mockReturnValue()
    const save = vi.fn()
    for (let renders = 0; renders < 2; renders++) markupOf({}, { onHandOver: save })
    expect(emitWarning.mock.calls).toEqual([
      ['<LockBanner>: the property onHandOver is called onHandoff now', 'HoldfastWarning'],
    ])
  })
})

describe('while another tab edits', () => {
  it.each([
    ['read-only', 'Wait in line'],
    ['waiting', 'Leave the line'],
  ] as const)('(%s) one action is a button, the others are quiet links', (phase, main) => {
    const found = markupOf({ phase }).matchAll(/<button type="button"(?: class="([^"]*)")?>([^<]*)/g)
    const actions = Array.from(found, ([, look, text]) => ({ text, isQuiet: look === 'hf-quiet' }))
    expect(actions).toEqual([
      { text: main, isQuiet: false },
      { text: 'Ask for it', isQuiet: true },
      { text: 'Take over', isQuiet: true },
    ])
  })

  it.each([
    ['asking', ['Wait in line']],
    ['postponed', ['Wait in line']],
    ['taking-over', []],
  ] as const)('nothing calls for a click after this person has asked (%s)', (demand, actions) => {
    const markup = markupOf({ phase: 'read-only', demand })
    expect(Array.from(markup.matchAll(/<button[^>]*>([^<]*)/g), ([, text]) => text)).toEqual(actions)
    expect(markup).not.toContain('hf-primary')
  })
})

function textOf(change: Partial<DocumentLockState>, props?: Parameters<typeof markupOf>[1]): string {
  const me = { sessionId: 's', clientId: 'c', name: null }
  const markup = markupOf({ me, connected: true, ...change }, props)
  return Array.from(markup.matchAll(/<p role="\w+">([^<]*)<\/p>/g), ([, text]) => text).join('')
}

describe('a waiter whose request the holder has declined', () => {
  it.each([
    ['en', 'The other would like to go on editing. You are next.'],
    ['ja', 'ほかの人はもう少し編集を続けたいそうです。次はあなたの番です。'],
  ] as const)(
    'a waiter whose request the holder has declined sees the place in line, too (%s)',
    (lang, words) => {
      expect(textOf({ phase: 'waiting', demand: 'declined', place: 0 }, { lang })).toBe(words)
    },
  )
})

const REQUEST = {
  id: 'r',
  name: 'Jonas',
  kind: 'request',
  until: 0,
  isOwn: false,
  passes: [],
  postponedUntil: null,
} as const
const OTHER = { clientId: 'd', token: 7, since: Date.now(), expiresAt: 0, isMe: false } as const
const AOI = { sessionId: 'a', clientId: 'a', name: 'Aoi' }

describe('a request from further back', () => {
  const held = { phase: 'held', held: true } as const

  it.each([
    ['en', [AOI], 'Jonas would like to edit. In line before them: Aoi. Hand over?'],
    ['en', [AOI, AOI], 'Jonas would like to edit. In line before them: Aoi and 1 more. Hand over?'],
    ['en', [], 'Jonas would like to edit. Hand over?'],
    ['ja', [AOI], 'Jonasさんが編集したいそうです。先にAoiさんが順番を待っています。交代しますか。'],
  ] as const)(
    'a request from further back tells the holder whom it passes (%s, %j)',
    (lang, passes, words) => {
      expect(textOf({ ...held, request: { ...REQUEST, passes } }, { lang })).toBe(words)
    },
  )

  it('a request from further back is told to those whom it passes', () => {
    const words = 'Jonas has asked to edit before you. You are next.'
    expect(textOf({ phase: 'waiting', place: 0, passedBy: REQUEST })).toBe(words)
  })
})

describe("a person's own other tab", () => {
  const mine = { ...OTHER, sessionId: 's', name: 'Guest 802' }

  it.each([
    ['read-only', 'en', 'You are editing this in another tab.', 'Edit here'],
    ['lost', 'en', 'You are editing this in another tab.', 'Edit here'],
    ['read-only', 'ja', '別のタブであなたが編集しています。', 'ここで編集する'],
  ] as const)(
    "a person's own other tab is not somebody else, and one click continues here (%s, %s)",
    (phase, lang, words, action) => {
      const state = { phase, holder: mine, me: { sessionId: 's', clientId: 'c', name: null } }
      expect(textOf(state, { lang })).toBe(words)
      expect(markupOf(state, { lang })).toMatch(new RegExp(`<button[^>]*hf-primary[^>]*>${action}`))
    },
  )

  it("a person's own other tab shows no question when it hands over to this person", () => {
    const markup = markupOf({ phase: 'held', held: true, request: { ...REQUEST, isOwn: true } })
    expect(markup).not.toContain('<button')
  })
})

describe('a lock that was granted before today', () => {
  it('a lock that was granted before today shows the date', () => {
    const since = new Date(2020, 2, 4, 14, 32).getTime()
    const holder = { ...OTHER, sessionId: 'x', name: 'Ken', since }
    expect(textOf({ phase: 'read-only', holder })).toContain('since Mar 4, 2020, 14:32.')
  })
})

describe('a page that the server has not answered yet', () => {
  const error = new LeaseError('store-unavailable', REASON)

  it('looks who is editing', () => {
    expect(textOf({ me: null, connected: false })).toBe('Looking who is editing.')
  })

  it.each([
    ['en', 'Your text is kept. No connection. Trying again.'],
    ['ja', '文章は残っています。接続が切れています。つなぎ直しています。'],
  ] as const)(
    'says that there is no connection, and that the text of the page before is kept (%s)',
    (lang, words) => {
      const draft = { isUnsaved: true }
      expect(textOf({ me: null, connected: false, error }, { lang, draft })).toBe(words)
    },
  )
})

describe('a lock that was lost', () => {
  it.each([
    ['en', 'Your text is kept. No connection. You are no longer editing. Edit again when it is back.'],
    ['ja', '文章は残っています。接続が切れ、編集が終了しました。つながったら、もう一度編集してください。'],
  ] as const)(
    'a lock that was lost says first what is safe, then that there is no connection (%s)',
    (lang, words) => {
      const draft = { isUnsaved: true }
      expect(textOf({ phase: 'lost', connected: false }, { lang, draft })).toBe(words)
    },
  )

  it('a lock that was lost says nothing of a text that was saved, or that the banner does not know', () => {
    const words = 'You are no longer editing. Edit again to continue.'
    expect(textOf({ phase: 'lost' }, { draft: { isUnsaved: false } })).toBe(words)
    expect(textOf({ phase: 'lost' })).toBe(words)
  })
})

/** The text of an error in the banner, and its title. */
function alertOf(code: LeaseErrorCode, props: Pick<LockBannerProps, 'lang' | 'texts'>) {
  const markup = markupOf({ phase: 'error', error: new LeaseError(code, REASON) }, props)
  const [, title, text = ''] = /<p role="alert" title="([^"]*)">([^<]*)<\/p>/.exec(markup) ?? []
  return { title, text }
}

it.each([
  ['en', 119, '119 s left'],
  ['en', 3597, '60 min left'],
  ['ja', 119, '残り119秒'],
  ['ja', 3597, '残り60分'],
] as const)('a long time is told in minutes (%s, %d s)', (lang, seconds, words) => {
  expect(lockTexts[lang].secondsLeft(seconds)).toBe(words)
})

describe('an error of the lock', () => {
  it.each([
    ['store-unavailable', 'en', 'The server does not answer now. Try again in a moment.'],
    ['store-failed', 'en', /^You cannot edit this document\./],
    ['store-unavailable', 'ja', /^いまサーバーにつながりません。/],
    ['store-failed', 'ja', /^この文書は編集できません。/],
  ] as const)(
    '%s is shown in plain words (%s), with the technical reason as a title',
    (code, lang, words) => {
      const { title, text } = alertOf(code, { lang })
      expect(text).toMatch(words)
      expect(text).not.toMatch(lang === 'ja' ? LATIN_WORD : /413|bytes/)
      expect(title).toBe(REASON)
    },
  )

  it('an error of the lock is shown in the own words of the page, if it has some', () => {
    const failed = vi.fn((reason: string) => `Sorry: ${reason}`)
    expect(alertOf('store-failed', { texts: { failed } }).text).toBe(`Sorry: ${REASON}`)
    expect(failed).toHaveBeenCalledWith(REASON, 'store-failed')
  })
})

describe('a demand that the server forbids', () => {
  const contentAfter = (refused: readonly DemandKind[], error: string, lang: 'en' | 'ja' = 'en') =>
    contentOf({
      state: {
        ...INITIAL_STATE,
        phase: 'read-only',
        demand: 'failed',
        error: new LeaseError('store-failed', 'refused', { cause: { error, status: 403 } }),
      },
      lock: null,
      words: lockTexts[lang],
      lang,
      confirm: { isAsked: false, ask() {} },
      demand() {},
      refused,
      onHandoff: undefined,
    })

  it.each([
    ['takeover', 'en', 'You may not take over.', ['Wait in line', 'Ask for it']],
    ['takeover', 'ja', '引き継ぐ権限がありません。', ['順番を待つ', '交代をお願い']],
    ['request', 'en', 'You may not ask for it.', ['Wait in line', 'Take over']],
  ] as const)(
    'a demand that the server forbids is not offered again (%s, %s)',
    (how, lang, text, actions) => {
      const content = contentAfter([how], 'forbidden', lang)
      expect([content.text, content.actions.map(({ text }) => text)]).toEqual([text, actions])
    },
  )

  it('a demand that failed otherwise may be repeated', () => {
    const { text, actions } = contentAfter([], 'internal')
    expect([text, actions.length]).toEqual([lockTexts.en.demand.failed(null), 3])
  })
})
