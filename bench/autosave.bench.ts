/** A save of 1 MB in Chromium beside a bare write and close of the same state. */
import { join } from 'node:path'
import { launchChromium, serveModule } from '../test/browser/chromium.ts'
import type { Durations } from './autosave/page.ts'
import { printTable, quantile } from './measure.ts'

const ROUNDS = 300

export async function run(): Promise<void> {
  await using site = await serveModule(join(import.meta.dirname, 'autosave/page.ts'))
  const browser = await launchChromium()
  try {
    const page = await browser.newPage()
    await page.goto(site.url)
    const { bare, committed, settled } = await page.evaluate(
      (rounds) => (globalThis as unknown as { measure(rounds: number): Promise<Durations> }).measure(rounds),
      ROUNDS,
    )
    const row = (name: string, durations: readonly number[]) => [
      name,
      quantile(durations, 0.5).toFixed(1),
      quantile(durations, 0.9).toFixed(1),
      (quantile(durations, 0.5) / quantile(bare, 0.5)).toFixed(2),
    ]
    printTable('1 MB into the private files of an origin, ms (reach: 1.50 × bare)', [
      ['', 'p50', 'p90', '× bare'],
      row('bare write and close', bare),
      row('AutoSave, until the save counts', committed),
      row('AutoSave, index and 20 generations in order', settled),
    ])
  } finally {
    await browser.close()
  }
}
