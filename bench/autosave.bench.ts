/** A save of 1 MB in Chromium beside a bare write and close of the same state. */
import { join } from 'node:path'
import { launchChromium, serveModule } from '../test/browser/chromium.ts'
import { printTable, type Rate, rateTable } from './measure.ts'

const BARE = 'write and close'

export async function run(): Promise<void> {
  await using site = await serveModule(join(import.meta.dirname, 'autosave/page.ts'))
  const browser = await launchChromium()
  try {
    const page = await browser.newPage()
    await page.goto(site.url)
    const rates = await page.evaluate(() =>
      (globalThis as unknown as { measure(): Promise<Rate[]> }).measure(),
    )
    const [bare, save] = rates.map(({ perSecond }) => perSecond)
    printTable('1 MB into the origin private file system', rateTable(rates, BARE))
    console.log(
      `  a save takes ${((bare ?? Number.NaN) / (save ?? Number.NaN)).toFixed(2)} × a ${BARE}; reach: 1.50`,
    )
  } finally {
    await browser.close()
  }
}
