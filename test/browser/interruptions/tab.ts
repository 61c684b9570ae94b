import type { BrowserContext, Page } from 'playwright-core'
import { wordsOf } from '../../../src/testing/history/index.ts'

const ADDRESS = 'http://localhost:5173/'

/** What a person sees in a tab. */
export interface View {
  readonly phase: string
  readonly status: string
  readonly isWritable: boolean
  readonly text: string
  readonly buttons: readonly string[]
}

/** How a person ends a conflict. */
export type Choice = 'Save mine' | 'Take theirs' | 'Take this part of theirs'

/** One tab with the page of docs/start/documents.md. Every call is one task of the page, so nothing comes between look and act. */
export class Tab {
  readonly page: Page
  isGone = false

  private constructor(page: Page) {
    this.page = page
    page.on('crash', () => this.#end())
    page.on('close', () => this.#end())
    // The browser asks whether to leave a page with unsaved text. This person does.
    page.on('dialog', (dialog) => void dialog.accept().catch(() => {}))
  }

  static async open(context: BrowserContext): Promise<Tab> {
    const tab = new Tab(await context.newPage())
    await tab.visit()
    return tab
  }

  /** Without a connection, the browser shows that instead of the page. */
  async visit(): Promise<void> {
    await this.page.goto(ADDRESS).catch(() => {})
  }

  /** `null`: the tab is gone, or does not show the page. */
  async look(): Promise<View | null> {
    if (this.isGone) return null
    return this.page.evaluate(viewOf).catch(() => null)
  }

  /** Presses the first of these buttons that is there; says which. */
  async press(...names: readonly string[]): Promise<string | null> {
    return this.page.evaluate(pressOne, names).catch(() => null)
  }

  /** Writes a word at the end of a line. Says whether the text has it: not if the text cannot be written now. */
  type(line: string, word: string): Promise<boolean> {
    return this.page.evaluate(typeInto, { line, word })
  }

  /** Replaces the whole text; says whether that was possible. */
  replace(text: string): Promise<boolean> {
    return this.page.evaluate(replaceAll, text)
  }

  /** Ends a conflict, as soon as both sides are shown. Returns the words that are not on the chosen side. */
  async decide(choice: Choice): Promise<string[]> {
    const sides = await this.page.evaluate(chooseSide, choice).catch(() => null)
    if (!sides) return []
    const [chosen, other] = choice === 'Save mine' ? [sides.mine, sides.theirs] : [sides.theirs, sides.mine]
    const kept = wordsOf(chosen)
    return wordsOf(other).filter((word) => !kept.includes(word))
  }

  /** How many texts this browser keeps that the server does not have. */
  copies(): Promise<number> {
    return this.page.evaluate(countCopies)
  }

  #end(): void {
    this.isGone = true
  }
}

function viewOf(): View | null {
  const banner = document.querySelector('.hf-banner')
  const area = document.querySelector('textarea')
  if (!banner || !area) return null
  return {
    phase: banner.getAttribute('data-phase') ?? '',
    status: document.querySelector('.hf-status')?.getAttribute('data-status') ?? '',
    isWritable: !area.readOnly,
    text: area.value,
    buttons: Array.from(document.querySelectorAll('button'), (button) => button.textContent),
  }
}

function pressOne(names: readonly string[]): string | null {
  const buttons = [...document.querySelectorAll('button')]
  for (const name of names) {
    const button = buttons.find(({ textContent }) => textContent === name)
    button?.click()
    if (button) return name
  }
  return null
}

function typeInto({ line, word }: { readonly line: string; readonly word: string }): boolean {
  const area = document.querySelector('textarea')
  if (!area || area.readOnly) return false
  const start = area.value.indexOf(line)
  const end = start < 0 ? -1 : area.value.indexOf('\n', start)
  const at = end < 0 ? area.value.length : end
  area.focus()
  area.setSelectionRange(at, at)
  document.execCommand('insertText', false, ` ${word}`)
  return area.value.split(/\s+/).includes(word)
}

function replaceAll(text: string): boolean {
  const area = document.querySelector('textarea')
  if (!area || area.readOnly) return false
  area.focus()
  area.select()
  document.execCommand('insertText', false, text)
  return area.value === text
}

function chooseSide(choice: Choice): { readonly mine: string; readonly theirs: string } | null {
  const button = (name: string) =>
    [...document.querySelectorAll('button')].find(({ textContent }) => textContent === name)
  const parts = [...document.querySelectorAll('.hf-part')]
  if (parts.length === 0) button('Compare')?.click()
  const chosen = parts.length > 0 && button(choice)
  if (!chosen) return null
  const decided = choice === 'Take this part of theirs' ? parts.slice(0, 1) : parts
  const side = (name: string) =>
    decided.map((part) => part.querySelector(`[data-side=${name}] .hf-changed`)?.textContent).join('\n')
  const sides = { mine: side('mine'), theirs: side('theirs') }
  chosen.click()
  return sides
}

async function countCopies(): Promise<number> {
  const journal = Object.keys(localStorage).filter((key) => key.startsWith('holdfast:unsaved:'))
  const names = (await indexedDB.databases()).map(({ name }) => name)
  if (!names.includes('holdfast-unsaved')) return journal.length
  const archived = await new Promise<number>((resolve, reject) => {
    const opening = indexedDB.open('holdfast-unsaved')
    opening.onerror = () => reject(opening.error)
    opening.onsuccess = () => {
      const counting = opening.result.transaction('copies').objectStore('copies').count()
      counting.onsuccess = () => {
        opening.result.close()
        resolve(counting.result)
      }
    }
  })
  return journal.length + archived
}
