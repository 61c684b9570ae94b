import type { BrowserContext } from 'playwright-core'
import { type WordRecord, wordsOf } from '../../../src/testing/history/index.ts'
import { eventually } from '../../eventually.ts'
import type { Random } from '../../random.ts'
import { launchChromium } from '../chromium.ts'
import { type Choice, Tab, type View } from './tab.ts'
import { UnreliableNetwork } from './unreliable-network.ts'

const CHOICES: readonly Choice[] = ['Save mine', 'Take theirs', 'Take this part of theirs']
/** What leads to the lock, in the order in which a person prefers it. */
const PATIENT = ['Edit', 'Edit again', 'Edit here', 'Wait in line']
const IMPATIENT = ['Edit', 'Edit again', 'Edit here', 'Take over', 'Wait in line']

/** How often a person looks at a tab where nothing happens. Several times the grace period of the server. */
const MOST_LOOKS = 300

/** A person with a browser, a network and a line of the document of their own. */
export class Person implements AsyncDisposable {
  readonly letter: string
  readonly #lines: readonly string[]
  readonly #random: Random
  readonly #record: WordRecord
  readonly context: BrowserContext
  readonly network: UnreliableNetwork
  tabs: Tab[] = []

  private constructor(letter: string, context: BrowserContext, network: UnreliableNetwork, shared: Shared) {
    this.letter = letter
    this.context = context
    this.network = network
    this.#random = shared.random
    this.#record = shared.record
    this.#lines = [`${letter}:`, `${letter}:`, `${letter}:`, 'both:']
  }

  static async arrive(letter: string, shared: Shared): Promise<Person> {
    const network = new UnreliableNetwork(shared.random, shared.server)
    const context = await launchChromium({
      addresses: {
        'localhost:4321': `127.0.0.1:${await network.open()}`,
        'localhost:5173': `127.0.0.1:${shared.pagesPort}`,
      },
    })
    const person = new Person(letter, context, network, shared)
    await person.openTab()
    return person
  }

  get openTabs(): Tab[] {
    this.tabs = this.tabs.filter(({ isGone }) => !isGone)
    return this.tabs
  }

  async openTab(): Promise<void> {
    this.tabs.push(await Tab.open(this.context))
  }

  /** Types if possible, and otherwise does what a person does to be able to. */
  async act(tab: Tab): Promise<void> {
    const random = this.#random
    const view = await tab.look()
    if (!view) return tab.isGone ? undefined : tab.visit()
    if (view.isWritable) for (let words = random.between(1, 3); words > 0; words--) await this.type(tab)
    if (view.buttons.includes('Hand over') && random.chance(0.4)) await tab.press('Hand over')
    else if (view.buttons.includes('Keep editing') && random.chance(0.1)) await tab.press('Keep editing')
    else if (view.status === 'conflict' && random.chance(0.3)) await this.#decide(tab)
    else if (view.buttons.includes('Bring mine back') && random.chance(0.3))
      await tab.press('Bring mine back')
    else if (random.chance(0.04)) await tab.press('Stop editing')
    else if (random.chance(0.5)) await tab.press(...PATIENT)
  }

  async type(tab: Tab): Promise<void> {
    const line = this.#random.pick(this.#lines) ?? ''
    const word = this.#record.next(this.letter)
    if (await tab.type(line, word).catch(() => false)) this.#record.note('typed', [word])
  }

  /** In good weather: everything that this tab keeps is saved or decided, and the lock is free. */
  async settle(tab: Tab): Promise<void> {
    let view: View | null = null
    let looks = 0
    await eventually(async () => {
      view = await tab.look()
      if (!view) await tab.visit()
      else if (view.status === 'conflict' && view.buttons.includes('Save mine')) await this.#decide(tab)
      else if (view.status === 'saved' && view.phase === 'held') await tab.press('Stop editing')
      else if (view.status === 'saved' && view.phase === 'waiting') await tab.press('Leave the line')
      else if (view.status === 'saved' && ['idle', 'read-only', 'lost'].includes(view.phase)) return
      else if (view.phase !== 'held') {
        const isPressed = await tab.press(...IMPATIENT)
        looks = isPressed ? 0 : looks + 1
        // The answer to a takeover was lost.
        if (looks % MOST_LOOKS === MOST_LOOKS - 1) await tab.press('Leave the line')
      }
      throw new Error(`${this.letter} is not settled: ${JSON.stringify(view)}`)
    })
  }

  /** Deletes all words, and waits until that is saved. */
  async clear(tab: Tab, text: string): Promise<void> {
    let cleared: string[] | null = null
    await eventually(async () => {
      const view = await tab.look()
      if (!cleared && view?.isWritable && view.status === 'saved' && (await tab.replace(text)))
        cleared = wordsOf(view.text)
      else if (!view?.isWritable) await tab.press(...IMPATIENT)
      else if (cleared && view.status === 'saved' && view.text === text) return
      throw new Error(`${this.letter} has not deleted the words: ${JSON.stringify(view)}`)
    })
    this.#record.note('removed', cleared ?? [])
    await this.settle(tab)
  }

  async #decide(tab: Tab): Promise<void> {
    this.#record.note('given up', await tab.decide(this.#random.pick(CHOICES) ?? 'Save mine'))
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.context.close()
    await this.network[Symbol.asyncDispose]()
  }
}

/** What both people have in common. */
export interface Shared {
  readonly random: Random
  readonly record: WordRecord
  readonly server: { readonly port: number }
  readonly pagesPort: number
}
