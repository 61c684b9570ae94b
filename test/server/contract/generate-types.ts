/** The types of a client, as `openapi-typescript` makes them from an OpenAPI document. */
import { createRequire, registerHooks } from 'node:module'
import { pathToFileURL } from 'node:url'

export async function typesOf(document: object): Promise<string> {
  const hooks = registerHooks({
    resolve: (specifier, context, next) =>
      specifier === 'typescript' && context.parentURL?.includes('/openapi-typescript/')
        ? next(typescript5(), context)
        : next(specifier, context),
  })
  try {
    const { default: generate, astToString } = await import('openapi-typescript')
    return astToString(await generate(document as never))
  } finally {
    hooks.deregister()
  }
}

/** The generator uses functions that TypeScript 7 does not have. Another tool brings TypeScript 5 along. */
function typescript5(): string {
  const here = createRequire(import.meta.url)
  const core = createRequire(here.resolve('@arethetypeswrong/cli/package.json')).resolve(
    '@arethetypeswrong/core',
  )
  return pathToFileURL(createRequire(core).resolve('typescript')).href
}
