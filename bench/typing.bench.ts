/**
 * How long a key takes in the demo editor (`npm run build` first), by the length of the text: until the handler has
 * returned, and until the next frame is painted.
 */
import { launchChromium } from '../test/browser/chromium.ts'
import { EditorWindow } from '../test/browser/editor-window.ts'
import { servePages } from '../test/browser/pages-server.ts'
import { printTable, quantile } from './measure.ts'

const LENGTHS = [1000, 100_000, 1_000_000, 1_200_000]
const KEYS = 40
const LINE = 'The quick brown fox jumps over the lazy dog, and the minutes say so.\n'

export async function run(): Promise<void> {
  await using server = await servePages()
  const browser = await launchChromium()
  const rows = [['characters', 'handled p50, ms', 'p95', 'max', 'painted p50, ms', 'p95', 'max']]
  for (const length of LENGTHS) {
    const opened = await EditorWindow.open(browser, server, `typing-${length}`, 'Mika')
    await opened.edit()
    await opened.page.waitForSelector('.paper .cm-content[contenteditable=true]')
    const times = await opened.page.evaluate(typeAfterPaste, {
      text: LINE.repeat(length / LINE.length),
      keys: KEYS,
    })
    const figures = times.flatMap((all) => [0.5, 0.95, 1].map((share) => quantile(all, share).toFixed(1)))
    rows.push([String(length), ...figures])
    await opened.close()
  }
  await browser.close()
  printTable(`A key in the editor, ${KEYS} keys`, rows)
}

/** Runs in the page. A key every 100 ms, as a person types. */
async function typeAfterPaste({ text, keys }: { readonly text: string; readonly keys: number }) {
  const content = document.querySelector<HTMLElement>('.paper .cm-content')
  const frame = () => new Promise((resolve) => requestAnimationFrame(() => setTimeout(resolve)))
  const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms))
  content?.focus()
  const data = new DataTransfer()
  data.setData('text/plain', text)
  content?.dispatchEvent(
    new ClipboardEvent('paste', { clipboardData: data, bubbles: true, cancelable: true }),
  )
  await pause(3000)
  const handled: number[] = []
  const painted: number[] = []
  for (let n = 0; n < keys; n++) {
    const pressed = performance.now()
    document.execCommand('insertText', false, 'a')
    handled.push(performance.now() - pressed)
    await frame()
    painted.push(performance.now() - pressed)
    await pause(100)
  }
  return [handled, painted]
}
