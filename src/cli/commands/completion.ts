import { CATALOG } from '../catalog.ts'
import { type Command, GENERAL_OPTIONS } from '../command.ts'
import { SHELLS } from '../completion-scripts.ts'
import { EXIT } from '../exit-codes.ts'
import { usageFailure } from '../failure.ts'

export const completion: Command = {
  usage: `completion <${Object.keys(SHELLS).join('|')}>`,
  about: 'Prints a script that completes commands and options in your shell.',
  takes: [1, 1],
  options: {},
  examples: [
    { line: 'eval "$(holdfast completion bash)"', does: 'in ~/.bashrc' },
    { line: 'eval "$(holdfast completion zsh)"', does: 'in ~/.zshrc, after compinit' },
    {
      line: 'holdfast completion fish > ~/.config/fish/completions/holdfast.fish',
      does: 'once, for fish',
    },
  ],

  async run({ positionals: [shell = ''], terminal }) {
    const script = Object.hasOwn(SHELLS, shell) ? SHELLS[shell] : undefined
    if (!script)
      throw usageFailure(
        `there is no completion for ${JSON.stringify(shell)}; there is for ${Object.keys(SHELLS).join(', ')}`,
      )
    const commands = await Promise.all(
      Object.entries(CATALOG).map(async ([name, { summary, load }]) => ({
        name,
        summary,
        options: { ...(await load()).options, ...GENERAL_OPTIONS },
      })),
    )
    terminal.write(script(commands))
    return EXIT.ok
  },
}
