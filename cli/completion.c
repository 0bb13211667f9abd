// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/*
 * The command table as scripts for shells. Each script is a frame around one list a command; what
 * follows from the table is printed, what a shell needs is written here once.
 */
#include "help.h"

#include <ctype.h>
#include <string.h>

/** Whether it begins with alternatives, `a|b|C` or `[a|b]`. */
static bool has_words(const char *text)
{
    return text != NULL && text[strcspn(text, "| ")] == '|';
}

/** Those of them that are words, in lower case. */
static void print_words(const char *alternatives, const char *before, FILE *out)
{
    if (!has_words(alternatives))
        return;
    while (*alternatives != '\0' && strchr(" ]", *alternatives) == NULL) {
        const size_t size = strcspn(alternatives, "| ]");
        if (islower((unsigned char)*alternatives)) {
            fputs(before, out);
            fprintf(out, "%.*s", (int)size, alternatives);
        }
        alternatives += size + (alternatives[size] == '|');
    }
}

static bool names_file(const option *o)
{
    return o->value != NULL && strcmp(o->value, "FILE") == 0;
}

static bool names_directory(const option *o)
{
    return o->value != NULL && strcmp(o->value, "DIR") == 0;
}

/** What the first operand of a command may be, beside a URL, a path or a number. */
static void print_operands(const command *what, const char *before, FILE *out)
{
    static const char *const codes[] = {
#define CODE_NAME(number, name, class_name, text) #name,
        BW_STATUS_MAP(CODE_NAME)
#undef CODE_NAME
    };
    print_words(what->operands, before, out);
    for (size_t i = 0; strcmp(what->name, "help") == 0 && i < command_count; i++)
        fprintf(out, "%s%s", before, commands[i]->name);
    for (size_t i = 0; strcmp(what->name, "errors") == 0 && i < COUNT_OF(codes); i++)
        fprintf(out, "%s%s", before, codes[i]);
}

static bool has_operands(const command *what)
{
    return has_words(what->operands) || strcmp(what->name, "errors") == 0;
}

/** In single quotes, for any of the three. */
static void print_quoted(const char *text, FILE *out)
{
    fputc('\'', out);
    for (; *text != '\0'; text++) {
        if (*text == '\'')
            fputs("'\\''", out);
        else
            fputc(*text, out);
    }
    fputc('\'', out);
}

static void print_settings(const char *before, const char *behind, FILE *out)
{
    for (size_t i = 0; i < bw_config_count(); i++)
        fprintf(out, "%s%s%s", before, bw_config_name(i), behind);
}

static void print_names(const option *options, size_t count, FILE *out)
{
    for (size_t i = 0; i < count; i++)
        fprintf(out, " --%s", options[i].name);
}

/* ---- bash ---- */

/** What follows an option that takes a value. */
static void bash_values(const char *name, const option *options, size_t count, FILE *out)
{
    for (size_t i = 0; i < count; i++) {
        const option *o = &options[i];
        if (o->type == OPTION_SWITCH || strcmp(o->name, "set") == 0)
            continue;
        fprintf(out, "    %s:--%s)", name, o->name);
        if (has_words(o->value)) {
            fputs(" COMPREPLY=($(compgen -W \"", out);
            print_words(o->value, " ", out);
            fputs("\" -- \"$cur\")); return ;;\n", out);
        } else if (names_file(o) || names_directory(o)) {
            fprintf(out, " COMPREPLY=($(compgen -%c -- \"$cur\")); return ;;\n",
                    names_file(o) ? 'f' : 'd');
        } else {
            fputs(" return ;;\n", out);
        }
    }
}

static void bash(FILE *out)
{
    fputs("# bash completion of batchweave, made by: batchweave help --completion bash\n"
          "_batchweave()\n"
          "{\n"
          "    local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]}\n"
          "    local command=${COMP_WORDS[1]} options='' words=''\n"
          "    COMPREPLY=()\n"
          "    if [ \"$COMP_CWORD\" -eq 1 ]; then\n"
          "        COMPREPLY=($(compgen -W \"--help --version",
          out);
    for (size_t i = 0; i < command_count; i++)
        fprintf(out, " %s", commands[i]->name);
    fputs("\" -- \"$cur\"))\n"
          "        return\n"
          "    fi\n"
          "    case $command:$prev in\n"
          "    *:--set) compopt -o nospace; COMPREPLY=($(compgen -W \"",
          out);
    print_settings(" ", "=", out);
    fputs("\" -- \"$cur\")); return ;;\n"
          "    *:-o) COMPREPLY=($(compgen -W \"text json\" -- \"$cur\")); return ;;\n",
          out);
    for (size_t i = 0; i < command_count; i++)
        bash_values(commands[i]->name, commands[i]->options, commands[i]->option_count, out);
    bash_values("*", global_options, global_option_count, out);
    fputs("    esac\n    case $command in\n", out);
    for (size_t i = 0; i < command_count; i++) {
        fprintf(out, "    %s) options=\"", commands[i]->name);
        print_names(commands[i]->options, commands[i]->option_count, out);
        fputs("\" words=\"", out);
        print_operands(commands[i], " ", out);
        fputs("\" ;;\n", out);
    }
    fputs("    esac\n"
          "    [ \"$COMP_CWORD\" -eq 2 ] || words=''\n"
          "    case $cur in\n"
          "    -*) words=\"$options",
          out);
    print_names(global_options, global_option_count, out);
    fputs("\" ;;\n"
          "    esac\n"
          "    COMPREPLY=($(compgen -W \"$words\" -- \"$cur\"))\n"
          "}\n"
          "complete -o bashdefault -o default -F _batchweave batchweave\n",
          out);
}

/* ---- zsh ---- */

/** A text within brackets, or before a colon, within single quotes. */
static void zsh_text(const char *text, FILE *out)
{
    for (; *text != '\0'; text++) {
        if (*text == '\'')
            fputs("'\\''", out);
        else if (strchr("[]:\\", *text) != NULL)
            fprintf(out, "\\%c", *text);
        else
            fputc(*text, out);
    }
}

static void zsh_options(const option *options, size_t count, FILE *out)
{
    for (size_t i = 0; i < count; i++) {
        const option *o = &options[i];
        const bool again = strcmp(o->name, "set") == 0;
        fprintf(out, " \\\n        '%s--%s[", again ? "*" : "", o->name);
        zsh_text(o->help, out);
        fputc(']', out);
        if (o->type != OPTION_SWITCH) {
            fputc(':', out);
            zsh_text(o->value, out);
            fputc(':', out);
            if (again)
                fputs("->setting", out);
            else if (names_file(o) || names_directory(o))
                fputs(names_file(o) ? "_files" : "_files -/", out);
            else if (has_words(o->value)) {
                fputc('(', out);
                print_words(o->value, " ", out);
                fputc(')', out);
            }
        }
        fputc('\'', out);
    }
}

static void zsh(FILE *out)
{
    fputs("#compdef batchweave\n"
          "# zsh completion of batchweave, made by: batchweave help --completion zsh\n"
          "_batchweave()\n"
          "{\n"
          "    local -a commands\n"
          "    local state command=$words[2]\n"
          "    commands=(",
          out);
    for (size_t i = 0; i < command_count; i++) {
        fprintf(out, "\n        '%s:", commands[i]->name);
        zsh_text(commands[i]->summary, out);
        fputc('\'', out);
    }
    fputs(")\n"
          "    if (( CURRENT == 2 )); then\n"
          "        _describe command commands\n"
          "        return\n"
          "    fi\n"
          "    shift words\n"
          "    (( CURRENT-- ))\n"
          "    case $command in\n",
          out);
    for (size_t i = 0; i < command_count; i++) {
        fprintf(out, "    %s) _arguments", commands[i]->name);
        zsh_options(commands[i]->options, commands[i]->option_count, out);
        zsh_options(global_options, global_option_count, out);
        fputs(" \\\n        '-o[text or json]:text|json:(text json)'", out);
        if (has_operands(commands[i])) {
            fputs(" \\\n        '1:what:(", out);
            print_operands(commands[i], " ", out);
            fputs(")'", out);
        }
        fputs(" \\\n        '*:URL or file:_files' ;;\n", out);
    }
    fputs("    esac\n"
          "    if [[ $state == setting ]]; then\n"
          "        compadd -S '' --",
          out);
    print_settings(" ", "=", out);
    fputs("\n"
          "    fi\n"
          "}\n"
          "if [[ $funcstack[1] == _batchweave ]]; then\n"
          "    _batchweave \"$@\"\n"
          "else\n"
          "    compdef _batchweave batchweave\n"
          "fi\n",
          out);
}

/* ---- fish ---- */

static void fish_options(const char *name, const option *options, size_t count, FILE *out)
{
    for (size_t i = 0; i < count; i++) {
        const option *o = &options[i];
        fputs("complete -c batchweave", out);
        if (name != NULL)
            fprintf(out, " -n '__fish_seen_subcommand_from %s'", name);
        fprintf(out, " -l %s", o->name);
        if (strcmp(o->name, "output") == 0)
            fputs(" -s o", out);
        if (o->type != OPTION_SWITCH)
            fputs(names_file(o) || names_directory(o) ? " -r" : " -x", out);
        if (has_words(o->value) || strcmp(o->name, "set") == 0) {
            fputs(" -a '", out);
            if (has_words(o->value))
                print_words(o->value, " ", out);
            else
                print_settings(" ", "=", out);
            fputc('\'', out);
        }
        fputs(" -d ", out);
        print_quoted(o->help, out);
        fputc('\n', out);
    }
}

static void fish(FILE *out)
{
    fputs("# fish completion of batchweave, made by: batchweave help --completion fish\n", out);
    for (size_t i = 0; i < command_count; i++) {
        fprintf(out, "complete -c batchweave -n __fish_use_subcommand -f -a %s -d ",
                commands[i]->name);
        print_quoted(commands[i]->summary, out);
        fputc('\n', out);
    }
    fish_options(NULL, global_options, global_option_count, out);
    for (size_t i = 0; i < command_count; i++) {
        const command *what = commands[i];
        fish_options(what->name, what->options, what->option_count, out);
        if (!has_operands(what))
            continue;
        fprintf(out, "complete -c batchweave -n '__fish_seen_subcommand_from %s' -f -a '",
                what->name);
        print_operands(what, " ", out);
        fputs("'\n", out);
    }
}

bool completion_print(const char *shell, FILE *out)
{
    static const struct {
        const char *shell;
        void (*print)(FILE *out);
    } scripts[] = {{"bash", bash}, {"zsh", zsh}, {"fish", fish}};
    for (size_t i = 0; i < COUNT_OF(scripts); i++) {
        if (strcmp(scripts[i].shell, shell) != 0)
            continue;
        scripts[i].print(out);
        return true;
    }
    return false;
}
