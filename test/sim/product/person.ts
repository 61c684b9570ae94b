import { type WordRecord, wordsOf } from '../../../src/testing/history/index.ts'
import type { Random } from '../world.ts'
import type { Browser, Tab } from './browser.ts'
import type { Story } from './story.ts'

export const ROOM = 'minutes'

const PASSIVE = ['idle', 'read-only', 'lost', 'error', 'signed-out']

/** Somebody with a browser and a line of the document of their own. */
export class Person {
  readonly browser: Browser
  /** Calls of the lock that have not ended. */
  pending = 0
  readonly #letter: string
  readonly #random: Random
  readonly #record: WordRecord
  readonly #story: Story
  /** By tab: words that were deleted, and are not confirmed to be. */
  readonly #deleted = new WeakMap<Tab, Set<string>>()
  /** Of everybody: words that a decision has kept after they were deleted. */
  readonly #rescued: Set<string>

  constructor(browser: Browser, record: WordRecord, story: Story, rescued: Set<string>) {
    this.browser = browser
    this.#letter = browser.name.slice(0, 1).toLowerCase()
    this.#random = browser.world.stream(`${browser.name}'s mind`)
    this.#record = record
    this.#story = story
    this.#rescued = rescued
  }

  openTab(): Tab {
    const tab = this.browser.open(ROOM)
    const deleted = new Set<string>()
    this.#deleted.set(tab, deleted)
    tab.draft.subscribe(() => {
      const { status, content } = tab.draft.state
      if (status !== 'saved' || deleted.size === 0) return
      const there = wordsOf(content)
      this.#record.note(
        'removed',
        [...deleted].filter((word) => !there.includes(word) && !this.#rescued.has(word)),
      )
      deleted.clear()
    })
    return tab
  }

  /** What a person does next, if the page answers. */
  act(): void {
    const tab = this.browser.tabs.length > 0 ? this.#random.pick(this.browser.tabs) : this.openTab()
    if (tab.isRunning) this.#actIn(tab)
  }

  #actIn(tab: Tab): void {
    const random = this.#random
    const { lock, draft } = tab
    const { phase, request, demand } = lock.state
    const { status, isWritable, dropped } = draft.state
    if (request && !request.isOwn && random.chance(0.5)) this.#answer(tab)
    else if (isWritable && random.chance(0.8)) random.chance(0.15) ? this.#delete(tab) : this.type(tab)
    else if (status === 'conflict' && random.chance(0.5)) this.decide(tab)
    else if (status === 'kept' && random.chance(0.04)) this.#takeTheirs(tab)
    else if (dropped !== null && random.chance(0.5)) this.#bringBack(tab)
    else if (phase === 'held' || phase === 'troubled') {
      if (random.chance(0.15)) this.release(tab)
    } else if (phase === 'waiting' && random.chance(0.1)) this.release(tab)
    else if (demand === null && phase !== 'acquiring' && random.chance(0.1))
      this.#demand(tab, random.chance(0.5) ? 'takeover' : 'requestHandoff')
    else if (PASSIVE.includes(phase)) this.acquire(tab, random.pick([0, 3000, 20_000, Infinity]))
  }

  acquire(tab: Tab, wait: number): void {
    this.#story.tell(tab.name, () => `asks for the lock, and waits for ${wait} ms`)
    this.#track(tab, 'acquire', tab.lock.acquire({ wait }))
  }

  release(tab: Tab): void {
    this.#story.tell(tab.name, () => 'gives the lock back')
    this.#track(tab, 'release', tab.lock.release())
  }

  type(tab: Tab): void {
    const { content } = tab.draft.state
    const line = this.#random.chance(0.3) ? 'both:' : `${this.#letter}:`
    const word = this.#record.next(this.#letter)
    this.#story.tell(tab.name, () => `types ${word}`)
    tab.draft.edit(appended(content, line, word))
    this.#record.note('typed', [word])
  }

  /** Ends a conflict. Whatever is not on the chosen side may be gone, and what was deleted may be back. */
  decide(tab: Tab): void {
    const { content, theirs } = tab.draft.state
    if (theirs === null) return
    const [mine, others] = [wordsOf(content), wordsOf(theirs)]
    const choice = this.#random.pick(['both', 'mine', 'theirs'] as const)
    // Lines that one side has moved may be there twice: a person who sees that joins them.
    const how = hasDoubles({ both: [], mine, theirs: others }[choice]) ? 'both' : choice
    this.#story.tell(
      tab.name,
      () => `decides the conflict for ${how}: ${JSON.stringify(content)} or ${JSON.stringify(theirs)}`,
    )
    this.#story.reach(`conflict: ${how}`)
    const chosen = { both: bothOf(bothOf('', content), theirs), mine: content, theirs }[how]
    const kept = wordsOf(chosen)
    for (const word of kept) this.#rescued.add(word)
    this.#record.note(
      'given up',
      [...mine, ...others].filter((word) => !kept.includes(word)),
    )
    const removed = this.#record.with('removed')
    this.#record.note(
      'given up',
      kept.filter((word) => removed.includes(word)),
    )
    if (how === 'both') this.#track(tab, 'merge', tab.draft.merge(chosen))
    else if (how === 'mine') this.#track(tab, 'takeMine', tab.draft.takeMine())
    else tab.draft.takeTheirs()
  }

  /** What a page shows and could not write into its browser is lost with it. */
  giveUp(tab: Tab): void {
    if (tab.hasLostCopies) this.#record.note('given up', wordsOf(tab.draft.state.content))
    this.#record.note('given up', this.#deleted.get(tab) ?? [])
  }

  /** In calm weather: everything that this tab keeps is saved or decided, and it does not hold the lock. */
  settle(tab: Tab): boolean {
    const { phase } = tab.lock.state
    const { status } = tab.draft.state
    if (status === 'conflict') this.decide(tab)
    else if (status === 'saved' && (phase === 'held' || phase === 'waiting')) this.release(tab)
    else if (status === 'saved' && PASSIVE.includes(phase)) return true
    else if (status !== 'loading' && PASSIVE.includes(phase)) this.acquire(tab, Infinity)
    return false
  }

  #delete(tab: Tab): void {
    const { content } = tab.draft.state
    const own = wordsOf(content).filter((word) => word.startsWith(this.#letter))
    if (own.length === 0) return
    const word = this.#random.pick(own)
    this.#story.tell(tab.name, () => `deletes ${word}`)
    // Until the service has confirmed it, it may come back.
    this.#record.note('given up', [word])
    this.#deleted.get(tab)?.add(word)
    this.#rescued.delete(word)
    tab.draft.edit(content.replace(new RegExp(` ?\\b${word}\\b`), ''))
  }

  #answer(tab: Tab): void {
    const answer = this.#random.pick([true, true, false, '2s'] as const)
    this.#story.tell(tab.name, () => `answers the request with ${answer}`)
    this.#story.reach(`answer: ${answer}`)
    this.#track(tab, 'answer', tab.lock.answer(answer))
  }

  #demand(tab: Tab, how: 'takeover' | 'requestHandoff'): void {
    this.#story.tell(tab.name, () =>
      how === 'takeover' ? 'takes the lock over' : 'asks the holder for the lock',
    )
    this.#track(tab, how, tab.lock[how]())
  }

  #bringBack(tab: Tab): void {
    this.#story.tell(tab.name, () => 'brings its text back')
    tab.draft.bringBack()
  }

  #takeTheirs(tab: Tab): void {
    const { content, stored } = tab.draft.state
    this.#story.tell(tab.name, () => `gives its text up: ${JSON.stringify(content)}`)
    this.#record.note('given up', wordsOf(`${content} ${stored}`))
    tab.draft.takeTheirs()
  }

  #track(tab: Tab, what: string, call: Promise<unknown>): void {
    this.pending++
    const end = () => {
      this.pending--
    }
    call.then(
      (result) => {
        end()
        if (what !== 'release') this.#story.reach(`${what}: ${result}`)
      },
      (error: { readonly code?: string }) => {
        end()
        this.#story.reach(`${what}: ${error.code}`)
        this.#story.tell(tab.name, () => `${what} was rejected: ${error}`)
        if (typeof error.code !== 'string')
          this.#story.violate(`${what} of ${tab.name} rejects with ${error}`)
      },
    )
  }
}

/** The words of both, each on its line. */
function bothOf(mine: string, theirs: string): string {
  const there = new Set(wordsOf(mine))
  let text = mine
  for (const line of theirs.split('\n')) {
    const [name = ''] = line.split(' ')
    for (const word of wordsOf(line)) {
      if (!there.has(word)) text = appended(text, name, word)
      there.add(word)
    }
  }
  return text
}

function hasDoubles(words: readonly string[]): boolean {
  return new Set(words).size < words.length
}

function appended(text: string, line: string, word: string): string {
  const start = `\n${text}`.indexOf(`\n${line}`)
  if (start < 0) return `${text}${text === '' || text.endsWith('\n') ? '' : '\n'}${line} ${word}\n`
  const end = text.indexOf('\n', start)
  const at = end < 0 ? text.length : end
  return `${text.slice(0, at)} ${word}${text.slice(at)}`
}
