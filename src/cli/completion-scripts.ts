import type { Options } from './command.ts'

export interface Completable {
  readonly name: string
  readonly summary: string
  readonly options: Options
}

/** After `--` stands a command of the user's: the shell completes that as it would elsewhere. */
export const SHELLS: Readonly<Record<string, (commands: readonly Completable[]) => string>> = {
  bash: (commands) => `_holdfast() {
  local current=\${COMP_WORDS[COMP_CWORD]} i
  for ((i = 2; i < COMP_CWORD; i++)); do
    if [[ \${COMP_WORDS[i]} == -- ]]; then
      compopt -o default; COMPREPLY=(); return
    fi
  done
  if ((COMP_CWORD == 1)); then
    COMPREPLY=($(compgen -W '${names(commands)} --help --version' -- "$current")); return
  fi
  case \${COMP_WORDS[1]} in
${commands.map(({ name, options }) => `    ${name}) COMPREPLY=($(compgen -W '${flags(options)}' -- "$current")) ;;`).join('\n')}
  esac
}
complete -o default -F _holdfast holdfast
`,

  zsh: (commands) => `_holdfast() {
  local -a commands
  commands=(
${commands.map(({ name, summary }) => `    ${quote(`${name}:${summary}`)}`).join('\n')}
  )
  if ((\${words[(I)--]} > 0 && \${words[(I)--]} < CURRENT)); then
    shift \${words[(i)--]} words
    ((CURRENT = \${#words}))
    _normal; return
  fi
  if ((CURRENT == 2)); then
    _describe command commands; return
  fi
  case \${words[2]} in
${commands.map(({ name, options }) => `    ${name}) _arguments -S ${zshFlags(options)} '*: :_default' ;;`).join('\n')}
  esac
}
compdef _holdfast holdfast
`,

  fish: (commands) =>
    [
      'complete -c holdfast -f',
      ...commands.flatMap(({ name, summary, options }) => [
        `complete -c holdfast -n __fish_use_subcommand -a ${name} -d ${quote(summary)}`,
        ...Object.entries(options).map(
          ([flag, { short, value, help }]) =>
            `complete -c holdfast -n '__fish_seen_subcommand_from ${name}' -l ${flag}${short ? ` -s ${short}` : ''}${value ? ' -r' : ''} -d ${quote(help)}`,
        ),
      ]),
      `complete -c holdfast -n '__fish_seen_subcommand_from run; and contains -- -- (commandline -opc)' -F`,
      '',
    ].join('\n'),
}

function names(commands: readonly Completable[]): string {
  return commands.map(({ name }) => name).join(' ')
}

function flags(options: Options): string {
  return Object.keys(options)
    .map((name) => `--${name}`)
    .join(' ')
}

function zshFlags(options: Options): string {
  return Object.entries(options)
    .map(([name, { value, help }]) =>
      quote(
        `--${name}${value ? '=' : ''}[${help.replaceAll(/[[\]]/g, '\\\\$&')}]${value ? `:${name}:` : ''}`,
      ),
    )
    .join(' ')
}

function quote(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`
}
