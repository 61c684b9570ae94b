import { executable, obtain, type Tool } from './tools.ts'

const firefox: Tool<string> = {
  name: 'firefox',
  packages: ['firefox-esr'],
  advice: 'install Firefox, or set HOLDFAST_TEST_FIREFOX to the path of one.',
  async find() {
    const { HOLDFAST_TEST_FIREFOX } = process.env
    return HOLDFAST_TEST_FIREFOX || executable('firefox-esr') || executable('firefox')
  },
}

/** The path of a Firefox to run. */
export async function firefoxPath(): Promise<string> {
  const [path = ''] = await obtain([firefox])
  return path
}
