import { existsSync } from 'node:fs'
import { chromium as playwright } from 'playwright-core'
import { executable, obtain, type Tool } from './tools.ts'

const chromium: Tool<string> = {
  name: 'chromium',
  packages: ['chromium'],
  advice: 'install Chromium, or run `npx playwright install chromium`.',

  async find() {
    const downloaded = playwright.executablePath()
    return (
      executable('chromium') ??
      executable('google-chrome') ??
      (existsSync(downloaded) ? downloaded : undefined)
    )
  },
}

/** The path of a Chromium to run. */
export async function chromiumPath(): Promise<string> {
  const [path = ''] = await obtain([chromium])
  return path
}
